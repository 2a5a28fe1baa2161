"""Text and bytes."""


def to_native_string(s: str | bytes) -> str:
    """Decode bytes to text."""
    return s.decode() if isinstance(s, bytes) else s


def to_binary_string(s: str | bytes) -> bytes:
    """Encode text as bytes."""
    return s.encode() if isinstance(s, str) else s
