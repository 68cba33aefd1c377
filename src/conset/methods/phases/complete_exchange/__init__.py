"""Complete exchange on meshes and tori.

One construction per file, the chooser among them in `chooser`.
"""
