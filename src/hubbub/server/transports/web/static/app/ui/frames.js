/** Drawing once per frame: changes of the state since the last frame are drawn together. */

/** Functions that draw in the next frame. `earlyDraws` run first, because they change the state that the others draw. */
const earlyDraws = new Set(),
  draws = new Set();
let isScheduled = false;

/**
 * Call a function before the next frame, once for all calls until then. `isEarly` is for functions that change the state.
 *
 * @param {() => void} draw
 * @param {boolean} [isEarly]
 */
export function drawInNextFrame(draw, isEarly = false) {
  (isEarly ? earlyDraws : draws).add(draw);
  if (!isScheduled) schedule();
}

function schedule() {
  isScheduled = true;
  // A hidden page has no frames.
  if (document.hidden) setTimeout(drawAll);
  else requestAnimationFrame(drawAll);
}

// Frames end when the page is hidden, also for draws that are already scheduled.
document.addEventListener("visibilitychange", () => document.hidden && isScheduled && drawAll());

function drawAll() {
  runAll(earlyDraws);
  isScheduled = false;
  runAll(draws);
  // An early draw may have requested another one, which is left for the next frame.
  if (earlyDraws.size && !isScheduled) schedule();
}

/** Call functions. Those that are added meanwhile are left for the next frame. */
function runAll(functions) {
  const waitingFunctions = [...functions];
  functions.clear();
  for (const run of waitingFunctions) {
    try {
      run();
    } catch (error) {
      // The other functions still run.
      reportError(error);
    }
  }
}
