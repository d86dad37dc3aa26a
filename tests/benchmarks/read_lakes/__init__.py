"""Public lakes whose joins were read by a person: expected ones, and what `hyperjoin find` lists."""
