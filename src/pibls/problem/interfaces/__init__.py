"""Where the laws of a problem jump, bend, or are too narrow to be seen."""
