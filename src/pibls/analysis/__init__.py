"""Why a problem is hard or wrong: bare sides, clashing corners."""
