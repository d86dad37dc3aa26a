"""The stages that `suggest` runs: profile tables, decide joins, verify them."""
