"""What happens between a captured text and its result, written once over two runners."""
