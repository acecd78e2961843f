"""Makes the databases that the tests of ``dyncron_import`` read, with the software they come from.

Run by ``make import-data``, in an environment of its own; the tests need none of it.
"""
