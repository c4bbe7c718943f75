"""The demonstration: robust and ordinary linear classifiers as ever more labels are wrong.

`htsvm demo` runs it. The modules, in the order of the data: `data` and `methods` say what is
compared, `experiment` fits, `summary` averages, `table`, `figures` and `report` show.
"""
