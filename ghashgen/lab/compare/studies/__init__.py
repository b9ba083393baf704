"""Studies, one paper a file: each exports STUDY, a `lab.compare.core.Study`."""
