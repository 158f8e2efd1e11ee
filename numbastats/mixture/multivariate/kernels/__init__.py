"""All that is jitted for mixtures in several dimensions: a file per job.

``passes``: log densities, responsibilities and moments of rows in tiles. ``steps``: from moments to parameters. ``newton``:
observed information in local coordinates, Newton's step. ``climb``: from given parameters to a certified optimum. ``sums``:
moments of large data sets by chunks; densities and labels of given rows. ``algebra``: small matrices. ``records``: what they pass
on.
"""
