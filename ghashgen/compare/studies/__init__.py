"""Studies, one paper a file: each exports STUDY, a `compare.core.Study`."""
