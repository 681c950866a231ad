"""Builders of valid and invalid key packages, public keys and signatures for DAVE groups."""

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from hubbub.server.transports.voice.dave import codec
from hubbub.server.transports.voice.dave.keys import labeled_content

UNLIMITED_LIFETIME = (0, 2**64 - 1)
VALID_CAPABILITIES = codec.LeafCapabilities((1,), (2,), (), (), (1,))


def public_key_bytes(key: ec.EllipticCurvePrivateKey | None = None) -> bytes:
    """Return the public key of `key`, or of a new key."""
    key = key or ec.generate_private_key(ec.SECP256R1())
    return key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)


def sign_labeled(key: ec.EllipticCurvePrivateKey, label: str, content: bytes) -> bytes:
    """Sign content with the label that MLS requires."""
    return key.sign(labeled_content(label, content), ec.ECDSA(hashes.SHA256()))


def make_key_package(user_id: int, **overrides: object) -> codec.KeyPackage:
    """Build a signed key package. `overrides` replaces fields, also the signatures: `leaf_signature` and `signature`."""
    signer = ec.generate_private_key(ec.SECP256R1())
    leaf = codec.LeafNode(
        encryption_key=overrides.get("encryption_key", public_key_bytes()),
        signature_key=overrides.get("signature_key", public_key_bytes(signer)),
        identity=overrides.get("identity", codec.u64(user_id)),
        capabilities=overrides.get("capabilities", VALID_CAPABILITIES),
        source=overrides.get("source", 1),
        lifetime=overrides.get("lifetime", UNLIMITED_LIFETIME),
        parent_hash=b"",
        extensions=overrides.get("leaf_extensions", b""),
        signature=b"",
    )
    leaf_signature = overrides.get("leaf_signature", sign_labeled(signer, "LeafNodeTBS", leaf.unsigned()))
    leaf = codec.read_leaf(codec.ByteReader(leaf.unsigned() + codec.vec(leaf_signature)))
    package = codec.KeyPackage(
        init_key=overrides.get("init_key", public_key_bytes()),
        leaf=leaf,
        extensions=overrides.get("extensions", b""),
        signature=b"",
    )
    signature = overrides.get("signature", sign_labeled(signer, "KeyPackageTBS", package.unsigned()))
    return codec.KeyPackage(package.init_key, leaf, package.extensions, signature)
