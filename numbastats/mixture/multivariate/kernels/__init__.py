"""All that is jitted for mixtures in several dimensions: a file per job.

``passes``: log densities, responsibilities and moments of rows in tiles. ``steps``: from moments to parameters. ``newton``:
observed information in local coordinates, Newton's step; ``products``: the same by products with vectors, for many parameters.
``climb``: from given parameters to a certified optimum. ``starts``, ``insertion``: where climbs begin. ``scores``: densities and
labels of given rows. ``pieces``: sums of blocks of rows that are elsewhere; ``observed``: of rows with missing values.
``algebra``: small matrices. ``blocks``: what loops, barriers and sums are on the host and in a CUDA block; ``memory``: work space
of either. ``records``: what they pass on.
"""
