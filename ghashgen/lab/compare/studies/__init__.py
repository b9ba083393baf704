"""Studies, one paper in each file. Each exports STUDY, a `lab.compare.core.Study`."""
