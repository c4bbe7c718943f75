"""Speed and memory of htsvm, side by side with its peers: ``python -m benchmarks``.

Each part of the benchmark is a module with three functions: ``run`` measures and returns rows,
``bars`` compares rows with what was promised, ``tables`` renders rows as Markdown.
"""
