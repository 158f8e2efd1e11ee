"""The machinery: compilation, loop templates, dispatch, broadcasting, random keys. It knows no statistics."""
