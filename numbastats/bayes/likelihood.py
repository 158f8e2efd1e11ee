"""The likelihood: sums over the rows of X; with two classes, each row is multiplied by the sign of its outcome."""

from __future__ import annotations

import contextlib

import numpy as np
import scipy.linalg

from numbastats._core import device as gpu
from numbastats._core.costs import Work
from numbastats._core.parallel import worker_count
from numbastats._core.place import Place
from numbastats._core.progress import LOG
from numbastats.bayes import kernels as k
from numbastats.bayes.responses import PROBIT
from numbastats.bayes.responses.record import Joint, Response, record_of
from numbastats.bayes.samplers.algebra import normal_matrix

_PART = 2**20  # entries of X held as floats at once: they fit the third-level cache
_NS_PER_ENTRY, _NS_PER_ROW = 0.2, 6.0
_MORE = 16  # matrix products on a GPU take so many times _PART entries at once
_STEP = 1e-4  # of own parameters, for second derivatives
_PASSES = 2000  # assumed passes of a fit, for the choice of the device
_PACKED = {"int8": ("_int8", np.float64), "uint16": ("_bfloat16", np.float32)}  # suffix of kernels' names, type of their sums


def part_rows(columns):
    """Number of rows of a part."""
    return max(1, _PART // max(columns, 1))


def work_of(n, p, chains):
    """The `Work` of a fit, for the choice of the device."""
    nanoseconds = _PASSES * n * chains * (_NS_PER_ENTRY * p + _NS_PER_ROW)
    sums = 8.0 * _PASSES * chains * (p + 1)
    return Work(nanoseconds, 8.0 * n * p + sums, sums, float(n) * chains, 5.0 * _PASSES)


class Rows:
    """The rows of X, each multiplied by +1 or -1; chunks that do not depend on the number of workers.

    Parameters
    ----------
    X : numpy.ndarray, shape (n, p), or Source
        C-contiguous: float64, float32, int8, or uint16, the upper halves of float32. A source is read at every pass.
    device : {"cpu", "cuda"}
    workers : int or None
    scale, shift : numpy.ndarray, shape (p,), optional
        X stands for X scale + s shift, s its first column, which is left out where X has more columns than `scale`. Applied to
        the coefficients before a pass and to its sums afterwards.
    response : Record or str
        By default that of the paper.
    facts : numpy.ndarray, shape (3, n), optional
        Of every row, from `facts_of_rows`; needed by responses that have weights.
    """

    def __init__(self, X, device, workers, scale=None, shift=None, *, response=PROBIT, facts=None):
        n, width = X.shape
        if scale is None and X.dtype == np.int8:
            scale = np.ones(width)
        self.X, self.device, self.workers, self.scale, self.shift = X, device, worker_count(workers), scale, shift
        self.place = Place(device, self.workers)
        self.response, self.facts = record_of(response), np.ones((3, 1)) if facts is None else facts
        self._joint = self._columns = None
        self.predictors = 1 if isinstance(self.response, Response) else self.response.predictors(self.facts[k.OUTCOME])
        if isinstance(self.response, Joint):
            y = self.facts[k.OUTCOME :]
            self._joint = self.response.prepare(y if len(y) > 1 else y[0], self.facts[k.WEIGHT])
        self.shape = n, (width if scale is None else scale.size) * self.predictors
        rows = max(k.GROUP, min(4096, -(-n // 64)))
        self.chunk = -(-rows // k.GROUP) * k.GROUP
        self.part = max(1, max(part_rows(width), width) // self.chunk) * self.chunk  # at least as many rows as X'X has
        self.kernels, self.dtype = _PACKED.get(X.dtype.name, ("", X.dtype.type))
        size = np.dtype(self.dtype).itemsize
        if X.dtype == self.dtype:
            self.tile = k.tile_rows(width, size)
        else:  # a tile in both forms, stored and as floats, fits the first-level cache
            self.tile = k.tile_rows(width, size + X.dtype.itemsize, 32768)
        if self.response.general and len(self.facts) == k.UPPER:  # all outcomes are known
            self.facts = np.concatenate([self.facts, self.facts[k.OUTCOME :]])
        self.own = self.response.own if self.response.general or self.response.several else ()
        self._facts, self._whole = self.facts, X if isinstance(X, np.ndarray) else None
        self._kept: tuple = ()
        if device == "cuda" and self._whole is not None:
            self._whole, self._facts = gpu.upload(X), gpu.upload(self.facts)

    @property
    def resident(self):
        """Whether a pass takes coefficients as they are, so that they may stay where the rows are."""
        plain = isinstance(self.response, Response) and not self.response.general
        return isinstance(self.X, np.ndarray) and self.scale is None and plain

    @property
    def width(self):
        """Coefficients that passes take: own parameters of a response whose rows have them, then those of the columns."""
        return len(self.own) + self.shape[1]

    @property
    def outcomes(self):
        """Outcomes of the rows, shape (n,), or both ends of each, shape (2, n); what a `Joint` response has made of them."""
        if isinstance(self.response, Joint):
            return self._joint
        return self.facts[k.OUTCOME :] if self.response.general else self.facts[k.OUTCOME]

    @property
    def known(self):
        """Sum of the weights of the rows whose outcomes are known exactly."""
        exact = self.facts[k.OUTCOME] == self.facts[k.UPPER] if self.response.general else slice(None)
        return self.facts[k.WEIGHT][exact].sum()

    def _parts(self):
        """Yield first row number and rows as floats, whole chunks at a time."""
        if isinstance(self.X, np.ndarray):
            stored = ((lo, self.X[lo : lo + self.part]) for lo in range(0, self.shape[0], self.part))
        else:
            stored = self.X.parts(self.part)
        for lo, x in stored:
            yield lo, self._floats(x)

    def _products(self, sums):
        """The result of ``sums(xp, blocks)``: by CuPy, if installed, where rows of floats are on a GPU, else by NumPy."""
        if self._whole is None or isinstance(self._whole, np.ndarray) or self.X.dtype != self.dtype or self.scale is not None:
            return sums(np, self._parts())
        try:
            import cupy
        except ImportError:
            return sums(np, self._parts())
        size = _MORE * self.part
        try:
            with cupy.cuda.Stream(null=True):  # on which the rows were copied
                X = cupy.asarray(self._whole)
                return sums(cupy, ((lo, X[lo : lo + size]) for lo in range(0, self.shape[0], size)))
        except Exception as error:
            if "OutOfMemory" not in type(error).__name__:
                raise
            LOG.debug("X'WX on the host, since CuPy has too little memory: %s", error)
        return sums(np, self._parts())

    def _floats(self, x):
        if x.dtype == np.uint16:
            return (x.astype(np.uint32) << np.uint32(16)).view(np.float32)
        if self.scale is None:
            return x
        rows = x[:, x.shape[1] - self.scale.size :] * self.scale
        return rows if self.shift is None else rows + x[:, :1] * self.shift

    def floats(self):
        """All rows as one array of floats."""
        return np.concatenate([x for _, x in self._parts()]) if self.X.dtype != self.dtype else self.X

    def columns(self):
        """All rows in double precision, sparse if X is; a `Joint` response, which asks at every pass, keeps them."""
        if self._columns is not None:
            return self._columns
        sparse = None if isinstance(self.X, np.ndarray) else self.X.sparse()
        found = self.floats().astype(np.float64, copy=False) if sparse is None else sparse
        self._columns = found if isinstance(self.response, Joint) else None
        return found

    def _run(self, kernels, B, key, streams, step, own=None, width=1):
        """Sums over the rows of X, and of numbers of the rows; of coefficients on a GPU sums there, until the next pass."""
        place, here, chains, p = self.place, isinstance(B, np.ndarray), B.shape[0], self.X.shape[1]
        if not place.on_gpu:
            B = np.ascontiguousarray(self._stored(B), self.dtype)
            G, S, total, sums = self._room(chains, width)
        else:
            if not self._kept or self._kept[1].shape[1] != chains * width:
                self._kept = *self._room(chains, width), place.empty((chains, p), self.dtype), place.empty(chains, np.uint32)
            G, S, total, sums, stored, words = self._kept
            if here:
                stored.copy_to_device(np.ascontiguousarray(self._stored(B), self.dtype))
                words.copy_to_device(streams)
                B, streams = stored, words
            else:
                streams = words if isinstance(streams, np.ndarray) else streams  # a log-likelihood takes no random numbers
                if self.dtype != np.float64:
                    place.run(k.SINGLE, B.size, B, stored)
                    B = stored
        args = (B, *key, streams, np.uint32(step))
        given = self._facts, self._facts if own is None else place.asarray(own)  # what stands in is not read
        if self._whole is None:  # a chunk for every thread
            parts = self.X.parts(max(self.part, self.chunk * self.workers))
        else:
            parts = [(0, self._whole)]
        for lo, x in parts:
            c = slice(lo // self.chunk, -(-(lo + x.shape[0]) // self.chunk))
            items = S[c].size // width * k.GROUP
            cost = x.shape[0] * chains * (_NS_PER_ENTRY * p + _NS_PER_ROW) / items
            arguments = (x, *args, *map(np.int64, (lo, self.chunk, self.tile)), given, G[c], S[c])
            place.run(kernels[self.kernels], items, *arguments, cost=cost, threads=k.GROUP)
        place.run(k.TOTALS, total.size + sums.size, G, S, total, sums, cost=0.5 * G.shape[0])
        return (self._of_rows(place.host(total)), place.host(sums)) if here else (total, sums)

    def _room(self, chains, width):
        """Memory for the sums of the chunks and of all rows, `width` of them beside those by columns."""
        chunks, empty, p = -(-self.X.shape[0] // self.chunk), self.place.empty, self.X.shape[1]
        sums = chains * width
        return empty((chunks, chains, p), self.dtype), empty((chunks, sums)), empty((chains, p)), empty(sums)

    def _stored(self, B):
        """Coefficients of the stored columns whose linear predictors are those of B."""
        if self.scale is None:
            return B
        out = np.zeros((B.shape[0], self.X.shape[1]))
        out[:, out.shape[1] - B.shape[1] :] = B * self.scale
        if self.shift is not None:
            out[:, 0] += (B * self.shift).sum(axis=1)  # not a matrix product, whose rounding depends on the number of chains
        return out

    def _of_rows(self, g):
        """Sums over the rows of the model from sums over the stored rows."""
        if self.scale is None:
            return g
        out = g[:, g.shape[1] - self.scale.size :] * self.scale
        return out if self.shift is None else out + g[:, :1] * self.shift

    def latent(self, B, key, streams, step):
        """X'e and e'e of e = z - X b, latent variables z ~ N(X b, 1) on (0, inf) drawn anew, for every chain b in B."""
        return self._run(k.LATENT, B, key, streams, step)

    def loglik(self, B):
        """Log-likelihood and its gradient for every chain b in B; own parameters, which b has, add their log prior density."""
        if isinstance(self.response, Joint):
            values, slopes = zip(*(self.response.value(*self._jointly(b)) for b in B), strict=True)
            return np.array(values), np.array([self._over_rows(s) for s in slopes])
        if self.response.several:
            return self.response.loglik(self, B)
        none = np.uint32(0)
        streams = np.zeros(B.shape[0], np.uint32)
        if not self.response.general:
            g, total = self._run(self.response.kernels, B, (none, none), streams, 0)
            return total, g
        count = len(self.own)
        P, places = self.response.own_numbers(B.shape[0])
        P[:, places] = B[:, :count]
        g, sums = self._run(self.response.kernels, B[:, count:], (none, none), streams, 0, P, 1 + k.OWN)
        sums = sums.reshape(-1, 1 + k.OWN)
        slopes = sums[:, [1 + j for j in places]]
        for i, (j, one) in enumerate(zip(places, self.own, strict=True)):
            sums[:, 0] += one.log_prior(P[:, j])
            slopes[:, i] += one.log_prior_slope(P[:, j])
        return sums[:, 0].copy(), np.concatenate([slopes, g], axis=1)

    def _jointly(self, b):
        """Of a `Joint` response linear predictors, shape (n, predictors), outcomes and weights; b goes by predictors."""
        weights, offsets = self.facts[: k.OUTCOME]
        return np.array([self.columns() @ c + offsets for c in b.reshape(self.predictors, -1)]).T, self._joint, weights

    def _over_rows(self, T):
        """Sums of X's rows times the numbers of each predictor."""
        return np.concatenate([t @ self.columns() for t in T.T])

    def gram(self):
        """X'X, Fortran order, in double precision: for nearly collinear columns large numbers cancel."""

        def sums(xp, blocks):
            H = xp.zeros((self.shape[1],) * 2, order="F")
            for _, x in blocks:
                x = x.astype(np.float64, copy=False)
                H += x.T @ x
            return _of_host(H)

        return self._held(self._products(sums))

    def _held(self, H):
        """H, with infinity for entries beyond the range of the sums of a pass."""
        H[abs(H) > np.finfo(self.dtype).max] = np.inf
        return H

    def curvature(self, b):
        """H = X' W X in double, W the weights of the log-likelihood's Hessian at b, and h = H b + gradient.

        Own parameters, which b has, have rows and columns of H by differences of the gradient.
        """
        if isinstance(self.response, Joint):
            at = self._jointly(b)
            if self.response.information is not None:
                H = self.response.information(self.columns(), *at)
            else:
                H = scipy.linalg.block_diag(*(normal_matrix(self.columns(), w) for w in self.response.curvature(*at).T))
            return H, H @ b + self._over_rows(self.response.value(*at)[1])
        if self.response.several:
            return self.response.curvature(self, b)

        count = len(self.own)
        own, columns = {one.name: b[j] for j, one in enumerate(self.own)}, b[count:]

        def sums(xp, blocks):
            p = self.shape[1]
            H, g = xp.zeros((p, p), order="F"), xp.zeros(p)
            for lo, x in blocks:
                m = _of_host(x @ xp.asarray(columns, x.dtype)).astype(np.float64)
                rows = slice(lo, lo + len(x))
                weights, offsets = self.facts[: k.OUTCOME, rows] if self.response.weighted else (1.0, 0.0)
                outcomes = self.outcomes[..., rows] if self.response.weighted else 1.0
                r, curvature = self.response.derivatives(m + offsets, outcomes, own)
                curvature = np.maximum(curvature, 0.0) if self.response.general else curvature  # of a metric
                r, root = weights * r, np.sqrt(weights * curvature)
                g += x.T @ xp.asarray(r, x.dtype)
                x = x * xp.asarray(root)[:, None]  # a product with its own transpose takes half the time
                H += x.T @ x
            return _of_host(H), _of_host(g)

        H, g = self._products(sums)
        if count:
            H, g = self._bordered(self._held(H), b), self.loglik(b[None])[1][0]
        return self._held(H), H @ b + g

    def _bordered(self, H, b):
        """H with rows and columns of the own parameters in front: a metric of steps, which has to be positive definite.

        Of a parameter of which the data say next to nothing it has a standard deviation of 2.
        """
        count = len(self.own)
        steps = _STEP * np.eye(count, b.size)
        gradients = self.loglik(np.concatenate([b + steps, b - steps]))[1]
        border = 0.5 * (gradients[count:] - gradients[:count]) / _STEP
        whole = np.zeros((b.size, b.size), order="F")
        whole[count:, count:], whole[:count, count:], whole[count:, :count] = H, border[:, count:], border[:, count:].T
        inner = 0.5 * (border[:, :count] + border[:, :count].T)
        np.fill_diagonal(inner, np.maximum(inner.diagonal(), 0.25))
        whole[:count, :count] = inner
        with contextlib.suppress(np.linalg.LinAlgError):
            np.linalg.cholesky(whole + np.diag(1e-6 * (1.0 + whole.diagonal())))
            return whole
        whole[:count, :] = whole[:, :count] = 0.0
        whole[:count, :count] = np.diag(inner.diagonal())
        return whole

    def least_squares(self):
        """H = X'WX, Fortran order, least-squares coefficients b, X'Wr and r'Wr of their residuals r."""
        p = self.shape[1]
        sparse = None if isinstance(self.X, np.ndarray) else self.X.sparse()
        H, g, b, squares = np.zeros((p, p), order="F"), np.zeros(p), np.zeros(p), 0.0
        for step in range(2):  # the second step sums residuals, which lack the digits that y and X b share
            g, squares = np.zeros(p), 0.0
            for lo, x in self._parts() if sparse is None else [(0, sparse)]:
                x = x.astype(np.float64, copy=False) if sparse is None else x
                weights, offsets, outcomes = self.facts[:, lo : lo + x.shape[0]]
                r = outcomes - offsets - x @ b
                g += (weights * r) @ x
                squares += r @ (weights * r)
                if step == 0:
                    H += normal_matrix(x, weights)
            if step == 0:
                H = self._held(H)
                A = H + np.diag(1e-10 * H.diagonal() + 1e-10)  # any b would do; near the least-squares solution it keeps digits
                b = scipy.linalg.solve(A, g, assume_a="pos") if np.isfinite(H).all() else b
        return H, b, g, squares


def _of_host(x):
    """An array of NumPy or CuPy as a NumPy array."""
    return x if isinstance(x, np.ndarray) else np.asfortranarray(x.get())
