"""Measure the product on the machine at hand; docs/performance.md says what and how."""
