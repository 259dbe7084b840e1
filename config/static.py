"""Static files under hashed names, so that browsers keep them for ever, and compressed beforehand."""

from whitenoise.storage import CompressedManifestStaticFilesStorage


class HashedStorage(CompressedManifestStaticFilesStorage):  # type: ignore[misc]
    """Names carry a hash of the content; imports between ES modules are rewritten to them."""

    support_js_module_import_aggregation = True
    # A page with a missing picture is better than an error page.
    manifest_strict = False
