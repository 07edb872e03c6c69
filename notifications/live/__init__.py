"""Live pages: one hub for each process that serves, which reads for all streams, and the form of a stream."""
