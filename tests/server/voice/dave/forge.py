"""Key packages of our own making, right and wrong, and commits bent out of shape."""

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from hubbub.server.transports.voice.dave import codec
from hubbub.server.transports.voice.dave.keys import labeled_content

ALWAYS = (0, 2**64 - 1)
CAPABILITIES = codec.LeafCapabilities((1,), (2,), (), (), (1,))


def point(key: ec.EllipticCurvePrivateKey | None = None) -> bytes:
    """A public key, of nobody if not told of whom."""
    key = key or ec.generate_private_key(ec.SECP256R1())
    return key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)


def sign(key: ec.EllipticCurvePrivateKey, label: str, content: bytes) -> bytes:
    """A member's signature."""
    return key.sign(labeled_content(label, content), ec.ECDSA(hashes.SHA256()))


def key_package(user_id: int, **changes: object) -> codec.KeyPackage:
    """A key package whose signatures are right, whatever else was changed; `leaf_signature` and `signature` override them."""
    signer = ec.generate_private_key(ec.SECP256R1())
    leaf = codec.LeafNode(
        encryption_key=changes.get("encryption_key", point()),
        signature_key=changes.get("signature_key", point(signer)),
        identity=changes.get("identity", codec.u64(user_id)),
        capabilities=changes.get("capabilities", CAPABILITIES),
        source=changes.get("source", 1),
        lifetime=changes.get("lifetime", ALWAYS),
        parent_hash=b"",
        extensions=changes.get("leaf_extensions", b""),
        signature=b"",
    )
    leaf_signature = changes.get("leaf_signature", sign(signer, "LeafNodeTBS", leaf.unsigned()))
    leaf = codec.read_leaf(codec.ByteReader(leaf.unsigned() + codec.vec(leaf_signature)))
    package = codec.KeyPackage(
        init_key=changes.get("init_key", point()), leaf=leaf, extensions=changes.get("extensions", b""), signature=b""
    )
    signature = changes.get("signature", sign(signer, "KeyPackageTBS", package.unsigned()))
    return codec.KeyPackage(package.init_key, leaf, package.extensions, signature)
