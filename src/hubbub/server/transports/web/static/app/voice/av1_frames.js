/**
 * Frames of AV1 as the end-to-end encryption sends them (spec/voice.md#8): the last unit of a frame (OBU) has no size field.
 *
 * Browsers add the field when they assemble a received frame, which changes authenticated bytes and moves the encrypted ones. It
 * is a classic script, because the worker of calls loads it with importScripts.
 */

{
  const HAS_EXTENSION = 0b100,
    HAS_SIZE = 0b010;

  /** Read a LEB128 number; return it with the index of the next byte, or null if it does not end within 8 bytes. */
  const readSize = (data, start) => {
    let value = 0;
    for (let index = start; index < Math.min(start + 8, data.length); index++) {
      value += (data[index] & 0x7f) * 2 ** (7 * (index - start));
      if (data[index] < 0x80) return { value, end: index + 1 };
    }
    return null;
  };

  const writeSize = value => {
    const bytes = [];
    for (; value > 0x7f; value = Math.floor(value / 128)) bytes.push((value & 0x7f) | 0x80);
    return [...bytes, value];
  };

  /** Return the indexes of the last unit of a frame, or null if the frame is malformed. */
  const findLastUnit = data => {
    let headerStart = 0;
    while (headerStart < data.length) {
      const sizeStart = headerStart + (data[headerStart] & HAS_EXTENSION ? 2 : 1);
      if (sizeStart > data.length) return null;
      if (!(data[headerStart] & HAS_SIZE)) return { headerStart, sizeStart, payloadStart: sizeStart };
      const size = readSize(data, sizeStart);
      if (size === null) return null;
      const next = size.end + size.value;
      if (next > data.length) return null;
      if (next === data.length) return { headerStart, sizeStart, payloadStart: size.end };
      headerStart = next;
    }
    return null;
  };

  /** Return a frame whose last unit has this size field: an array of bytes, which is empty for a unit without the field. */
  const replaceSize = (data, { headerStart, sizeStart, payloadStart }, size) => {
    const frame = new Uint8Array(sizeStart + size.length + data.length - payloadStart);
    frame.set(data.subarray(0, sizeStart));
    frame[headerStart] = size.length > 0 ? data[headerStart] | HAS_SIZE : data[headerStart] & ~HAS_SIZE;
    frame.set(size, sizeStart);
    frame.set(data.subarray(payloadStart), sizeStart + size.length);
    return frame;
  };

  /** @type {any} */ (self).av1Frames = {
    /** Return a frame without the size field of its last unit; a malformed frame is returned unchanged. */
    removeLastSize(data) {
      const unit = findLastUnit(data);
      return unit === null ? data : replaceSize(data, unit, []);
    },

    /** Return a frame whose last unit has a size field, which decoders need; a malformed frame is returned unchanged. */
    addLastSize(data) {
      const unit = findLastUnit(data);
      return unit === null ? data : replaceSize(data, unit, writeSize(data.length - unit.payloadStart));
    },
  };
}
