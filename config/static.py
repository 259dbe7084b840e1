"""Static files under hashed names, so that browsers keep them for ever."""

from django.contrib.staticfiles.storage import ManifestStaticFilesStorage


class HashedStorage(ManifestStaticFilesStorage):
    """Names carry a hash of the content; imports between ES modules are rewritten to them."""

    support_js_module_import_aggregation = True
    # A page with a missing picture is better than an error page.
    manifest_strict = False
