"""Normal mixtures in several dimensions: the engine beside the one-dimensional one, reached by `numbastats.mixture.fit`.

``covariances``: the models of the covariance matrices, records. ``arguments``: rows, options, refusals. ``engine``: starts,
climbs, exchanges, choice. ``fitting``: numbers of components and models. ``results``: fits and batches. ``kernels``: all that is
jitted.
"""
