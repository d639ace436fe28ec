"""The laws that are included in Isoplan; each module contains one family of formulas."""
