"""All that is jitted for mixtures in several dimensions: a file per job.

``passes``: log densities, responsibilities and moments of rows in tiles. ``steps``: from moments to parameters. ``newton``:
observed information in local coordinates, Newton's step. ``climb``: from given parameters to a certified optimum. ``sums``:
moments of large data sets by chunks; densities and labels of given rows. ``algebra``: small matrices. ``blocks``: what
loops, barriers and sums are on the host and in a CUDA block; ``memory``: work space of either. ``records``: what they pass
on.
"""
