"""Names that PyMJCF gives a meaning."""

PREFIX_SEPARATOR = "/"  # between the name of a model and that of an element
PREFIX_SEPARATOR_ESCAPE = "\\"  # in its place, in names that are read
FRAME = "attachment_frame"  # namespace
