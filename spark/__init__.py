"""Everything that reads the lake: sessions, profiles and verification on Spark."""
