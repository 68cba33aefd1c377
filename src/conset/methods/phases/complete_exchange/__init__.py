"""Complete exchange on meshes and tori: one construction per file, the chooser among them in `chooser`."""
