"""What every public function is tested for, written once.

A test class inherits a contract and states its function, inputs and exact values; the contract supplies the tests:
reference, parity of the three twins, float32, broadcasting, empty, scalar, NaN and inf, ``out=``, bad input.
"""

from __future__ import annotations

import functools
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.stats
from numba import cuda

from numbastats._core import launch, slabs
from numbastats._core.kernel import build
from numbastats.testing import DEVICES, assert_matches, ulp_error

built = functools.cache(build)  # for kernels with functions of tests, which are not kept on the disk
FLOATS = (np.float64, np.float32)
WIDTHS = (64, 32)


def slowly(*values):
    """Values of a parameter whose tests are slow ones."""
    return [pytest.param(value, marks=pytest.mark.slow) for value in values]


def same(a, b):
    """Bit for bit, NaN equal to NaN, zeros by sign."""
    a, b = np.asarray(a), np.asarray(b)
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


class ElementwiseContract:
    """Tests of a function of one data array and optional parameters.

    Attributes to define
    --------------------
    function : staticmethod
    dtypes : float types the function is offered in
    limit : dict dtype -> largest error in ulp against `exact`
    edges : list of (input, expected); compared exactly, signs of zeros included

    Methods to define
    -----------------
    sample(dtype) -> 1-d array of inputs
    exact(x) -> list of exact values (decimal strings, Fraction or mpmath.mpf)
    """

    dtypes = FLOATS
    edges: list = []

    @pytest.mark.parametrize("dtype", FLOATS, ids=["float64", "float32"])
    def test_reference(self, dtype, device):
        if dtype not in self.dtypes:
            with pytest.raises(ValueError, match="float64"):
                self.function(self.sample(np.float64).astype(dtype), **device)
            return
        x = self.sample(dtype)
        if device["device"] == "cuda" and dtype == np.float32:
            # Simulated scalars return float64, so there float32 is only held to a coarse bound.
            np.testing.assert_allclose(
                self.function(x, **device), np.array([float(e) for e in self.exact(x)]), rtol=2e-6, atol=1e-37
            )
            return
        assert_matches(self.function(x, **device), self.exact(x), ulp=self.limit[dtype], what=f"{dtype.__name__} {device}")

    def test_twins_agree(self):
        for dtype in self.dtypes:
            x = self.sample(dtype)
            serial = self.function(x, **DEVICES["cpu-serial"])
            assert serial.dtype == dtype
            if dtype == np.float64:
                simulated = self.function(x, **DEVICES["cuda"])
                finite = np.isfinite(serial)
                assert same(np.where(finite, 0, serial), np.where(finite, 0, simulated))
                error = np.abs(simulated - serial)[finite] / np.spacing(np.abs(serial[finite]))
                assert error.max(initial=0) <= 2  # the stated bound between devices; the simulator gives 0

    def test_workers_and_chunks_do_not_matter(self, monkeypatch):
        monkeypatch.setattr(launch, "PARALLEL_FROM", 0)
        monkeypatch.setattr(slabs, "SLAB", 4096)
        for dtype in self.dtypes:
            x = np.resize(self.sample(dtype), 10_007)
            serial = self.function(x, device="cpu", workers=1)
            assert same(serial, self.function(x, device="cpu", workers=2))
            assert same(serial, self.function(x, device="cpu", workers=-1))
            with ThreadPoolExecutor(2) as pool:
                assert same(serial, self.function(x, device="cpu", workers=pool))
            cut = np.concatenate([self.function(part, device="cpu", workers=1) for part in np.split(x, [1, 70, 4101])])
            assert same(serial, cut)

    def test_edges(self, device):
        for dtype in self.dtypes:
            if device["device"] == "cuda" and dtype == np.float32:
                continue
            x = np.array([e[0] for e in self.edges], dtype)
            want = np.array([e[1] for e in self.edges], dtype)
            got = self.function(x, **device)
            for xi, w, g in zip(x, want, got, strict=True):
                assert (np.isnan(w) and np.isnan(g)) or (g == w and np.signbit(g) == np.signbit(w)), (
                    f"f({xi!r}) = {g!r}, not {w!r}"
                )

    def test_shapes(self, device):
        x = self.sample(np.float64)[:6]
        flat = self.function(x, **device)
        assert same(self.function(x.reshape(2, 3), **device), flat.reshape(2, 3))
        assert same(self.function(x.reshape(2, 3).T, **device), flat.reshape(2, 3).T.copy())  # strided input
        assert same(self.function(np.repeat(x, 2)[::2], **device), flat)
        assert same(self.function(x.tolist(), **device), flat)
        assert same(self.function(x.reshape(6, 1)[:, [0, 0]], **device)[:, 0].copy(), flat)
        for shape in ((0,), (3, 0), (0, 2, 2)):
            empty = self.function(np.empty(shape), **device)
            assert empty.shape == shape and empty.dtype == np.float64
        readonly = x.copy()
        readonly.flags.writeable = False
        assert same(self.function(readonly, **device), flat)

    def test_scalars(self, device):
        x = self.sample(np.float64)[:1]
        want = self.function(x, **device)[0]
        for scalar in (float(x[0]), x[0], np.array(x[0])):
            got = self.function(scalar, **device)
            assert isinstance(got, np.float64) and same(got, want)
        if np.float32 in self.dtypes:
            assert isinstance(self.function(np.float32(x[0]), **device), np.float32)

    def test_dtypes(self):
        x = self.sample(np.float64)[:4]
        for bad in (np.float16, np.longdouble, np.complex128, object):
            with pytest.raises(TypeError, match="astype"):
                self.function(x.astype(bad))
        with pytest.raises(TypeError, match="masked"):
            self.function(np.ma.array(x, mask=[False, True, False, False]))
        with pytest.raises(TypeError, match="float64"):
            self.function(x, dtype="float16")
        assert self.function(np.array([0, 1], np.int32)).dtype == np.float64
        assert same(self.function(x.astype(">f8")), self.function(x))  # the other byte order
        if np.float32 in self.dtypes:
            narrow = self.function(x, dtype=np.float32)
            assert narrow.dtype == np.float32 and same(narrow, self.function(x.astype(np.float32)))

    def test_out(self, device):
        for dtype in self.dtypes:
            x = self.sample(dtype)[:10]
            want = self.function(x, **device)
            out = np.empty_like(x)
            assert self.function(x, out=out, **device) is out
            assert same(out, want)
            assert same(self.function(out.copy(), out=out, **device), self.function(want, **device))
            in_place = x.copy()
            assert same(self.function(in_place, out=in_place, **device), want)
            shifted = np.append(x, x[-1:])
            assert same(self.function(shifted[:-1], out=shifted[1:], **device), want)  # overlapping memory
            matrix = np.empty((1, 10), dtype).view(np.matrix)  # stays two-dimensional when it is reshaped
            assert self.function(x[None], out=matrix, **device) is matrix
            assert same(np.asarray(matrix)[0], want)
        x = self.sample(np.float64)[:10]
        readonly = np.empty(10)
        readonly.flags.writeable = False
        for bad, error, word in (
            (np.empty(9), ValueError, "shape"),
            (np.empty(10, np.float32), TypeError, "dtype"),
            (np.empty(20)[::2], ValueError, "contiguous"),
            (readonly, ValueError, "read-only"),
            ([0.0] * 10, TypeError, "ndarray"),
        ):
            with pytest.raises(error, match=word):
                self.function(x, out=bad, **device)

    def test_bad_options(self):
        x = self.sample(np.float64)[:4]
        with pytest.raises(ValueError, match="'auto', 'cpu', 'cuda'"):
            self.function(x, device="gpu")
        for workers in (0, -2, "two", 1.5):
            with pytest.raises(ValueError, match="workers"):
                self.function(x, device="cpu", workers=workers)

    def test_device_arrays(self):
        x = self.sample(np.float64)[:40]
        on_device = cuda.to_device(x)
        got = self.function(on_device)
        assert hasattr(got, "copy_to_host")
        assert same(got.copy_to_host(), self.function(x, device="cuda"))
        out = cuda.device_array(x.shape, x.dtype)
        assert self.function(on_device, out=out) is out
        assert same(out.copy_to_host(), got.copy_to_host())
        for ahead in (0, 1):  # input and result overlap
            shared = cuda.to_device(np.concatenate([x, x[-1:]] if ahead else [x[:1], x]))
            out = shared[ahead : ahead + x.size]
            self.function(shared[1 - ahead : 1 - ahead + x.size], out=out)
            assert same(out.copy_to_host(), got.copy_to_host())
        with pytest.raises(ValueError, match="copy it to the host"):
            self.function(on_device, device="cpu")
        with pytest.raises(TypeError, match="out"):
            self.function(on_device, out=np.empty_like(x))


class RandomContract:
    """Tests of a random function.

    Attributes to define
    --------------------
    function : staticmethod, called as function(*parameters, size, rng=...)
    parameters : tuple of scalar parameters
    law : frozen scipy.stats distribution of the draws
    bad : list of parameter tuples that give NaN
    refused : list of parameter tuples that raise ValueError, and the word that the message has
    """

    bad: list = []
    refused: list = []
    kind = "float"

    def dtype(self, width):
        return np.dtype(f"{self.kind}{width}")

    def draw(self, size, rng=7, **options):
        return self.function(*self.parameters, size, rng=rng, **options)

    @pytest.mark.parametrize("width", WIDTHS)
    def test_law(self, width):
        x = self.draw(200_000, dtype=self.dtype(width), device="cpu").astype(float)
        self.check_law(x)  # fixed key: deterministic
        assert abs(x.mean() - self.law.mean()) < 4.5 * self.law.std() / np.sqrt(x.size)
        lag = np.corrcoef(x[1:], x[:-1])[0, 1]
        assert abs(lag) < 4.5 / np.sqrt(x.size)

    def check_law(self, x):
        assert scipy.stats.kstest(x, self.law.cdf).pvalue > 1e-3

    @pytest.mark.parametrize("width", WIDTHS)
    def test_twins_agree(self, width, device):
        dtype = self.dtype(width)
        n = 1_000 if device["device"] == "cuda" else 10_007
        want = self.draw(10_007, dtype=dtype, device="cpu", workers=1)[:n]
        got = self.draw(n, dtype=dtype, **device)
        assert got.dtype == dtype
        if device["device"] == "cpu" or self.kind == "int":
            assert same(got, want)
        elif dtype == np.float64:
            assert ulp_error(got, want).max() <= 2
        else:
            np.testing.assert_allclose(got, want, rtol=2e-5, atol=2e-6)  # simulated scalars compute float32 in double

    def test_chunks_and_executors(self, monkeypatch):
        monkeypatch.setattr(slabs, "SLAB", 4096)
        for dtype in map(self.dtype, WIDTHS):
            want = self.draw(10_007, dtype=dtype, device="cpu", workers=1)
            with ThreadPoolExecutor(2) as pool:
                assert same(want, self.draw(10_007, dtype=dtype, workers=pool, device="cpu"))
            assert same(
                want[:100], self.draw(100, dtype=dtype, device="cpu")
            )  # an item's draw does not depend on how many follow

    @pytest.mark.parametrize("width", WIDTHS)
    def test_offset(self, width, device):
        """Blocks of any length, with numbers or arrays as parameters, are the parts of one call."""
        dtype = self.dtype(width)
        on_gpu = device["device"] == "cuda"
        cuts = [0, 1, 5, 130, 131, 300] if on_gpu else [0, 1, 5, 127, 128, 131, 4096, 4300, 10_007]
        n = cuts[-1]
        whole = self.draw(n, dtype=dtype, **device)
        columns = [np.full(n, p) for p in self.parameters]
        of_arrays = self.function(*columns, rng=7, dtype=dtype, **device)
        for lo, hi in zip(cuts[:-1], cuts[1:], strict=True):
            options = dict(rng=7, dtype=dtype, offset=lo, **device)
            assert same(self.draw(hi - lo, **options), whole[lo:hi])
            assert same(self.function(*(c[lo:hi] for c in columns), **options), of_arrays[lo:hi])
            out = cuda.device_array(hi - lo, dtype) if on_gpu else np.empty(hi - lo, dtype)
            assert self.draw(None, out=out, **options) is out
            assert same(out.copy_to_host() if on_gpu else out, whole[lo:hi])
        assert self.draw(None, offset=5, dtype=dtype, **device) == whole[5]
        assert self.draw(0, offset=5, **device).shape == (0,)

    def test_offset_far_out(self, monkeypatch):
        """Beyond 2^32, in slabs for an executor; and what is refused."""
        monkeypatch.setattr(slabs, "SLAB", 4096)
        far = 2**32 - 5000
        whole = self.draw(10_007, offset=far, device="cpu", workers=1)
        with ThreadPoolExecutor(2) as pool:
            for lo in (0, 3, 4990, 5000, 5003):
                assert same(self.draw(5000, offset=far + lo, workers=pool, device="cpu"), whole[lo : lo + 5000])
        assert np.isfinite(self.draw(3, offset=2**63 - 4)).all()
        generator = np.random.default_rng(3)
        before = generator.bit_generator.state
        for bad, error in ((-1, ValueError), (2**63 - 3, ValueError), (1.0, TypeError), ("3", TypeError), (None, TypeError)):
            with pytest.raises(error, match="offset"):
                self.draw(3, offset=bad, rng=generator)
        assert generator.bit_generator.state == before
        with pytest.raises(ValueError, match="offset=3 continues a stream, but rng=None"):
            self.draw(3, offset=np.int64(3), rng=None)

    def test_rng(self):
        a = self.draw(100, rng=1)
        assert same(a, self.draw(100, rng=1))
        assert same(a, self.draw(100, rng=np.random.SeedSequence(1)))
        assert not same(a, self.draw(100, rng=2))
        assert not same(self.draw(100, rng=None), self.draw(100, rng=None))
        g = np.random.default_rng(3)
        first, second = self.draw(100, rng=g), self.draw(100, rng=g)
        assert not same(first, second)
        assert same(first, self.draw(100, rng=np.random.default_rng(3)))
        with pytest.raises(TypeError, match="default_rng"):
            self.draw(3, rng=np.random.RandomState(1))
        with pytest.raises(ValueError, match="negative"):
            self.draw(3, rng=-1)

    def test_sizes(self, device):
        assert isinstance(self.draw(None, **device), self.dtype(64).type)
        assert self.draw((), **device).shape == ()
        assert self.draw(5, **device).shape == (5,)
        assert same(self.draw((2, 3), **device).reshape(-1), self.draw(6, **device))
        assert self.draw((2, 0), **device).shape == (2, 0)
        assert self.draw(0, **device).shape == (0,)
        with pytest.raises(ValueError, match="negative"):
            self.draw(-1, **device)
        with pytest.raises(TypeError, match="shape"):
            self.draw(1.5, **device)

    def test_broadcasting(self, device):
        columns = [np.full((2, 1), p) if i % 2 else np.full(3, p) for i, p in enumerate(self.parameters)]
        shape = np.broadcast_shapes(*[c.shape for c in columns])
        want = self.draw(shape, **device)
        got = self.function(*columns, rng=7, **device)
        assert got.shape == shape
        np.testing.assert_allclose(got, want, rtol=1e-14)
        assert self.function(*columns, (4, *shape), rng=7, **device).shape == (4, *shape)
        with pytest.raises(ValueError, match="size"):
            self.function(*columns, 7, rng=7, **device)

    def test_out_and_dtype(self, device):
        out = np.empty(50, self.dtype(64))
        assert self.draw(50, out=out, **device) is out
        assert same(out, self.draw(50, **device))
        out = np.empty((5, 10), self.dtype(64))
        assert self.draw(None, out=out, **device) is out  # its shape is the size
        assert same(out, self.draw((5, 10), **device))
        with pytest.raises(ValueError, match="shape"):
            self.draw(50, out=np.empty(49, self.dtype(64)), **device)
        with pytest.raises(TypeError, match=self.dtype(64).name):
            self.draw(50, dtype="float16", **device)

    def test_out_on_the_device(self):
        out = cuda.device_array(50, self.dtype(64))
        assert self.draw(50, out=out) is out
        assert same(out.copy_to_host(), self.draw(50, device="cuda"))
        with pytest.raises(ValueError, match="shape"):
            self.draw(49, out=out)
        with pytest.raises(ValueError, match="GPU"):
            self.draw(50, out=out, device="cpu")

    def test_out_of_domain_is_refused(self, device):
        """One value in an array is enough, also beside NaN; nothing is drawn from the generator."""
        for parameters, word in self.refused:
            generator = np.random.default_rng(3)
            before = generator.bit_generator.state
            last = [p if self.kind == "int" else np.nan for p in self.parameters]
            arrays = [np.array(three) for three in zip(self.parameters, parameters, last, strict=True)]
            for given, size in ((parameters, 3), (parameters, None), (parameters, 0), (arrays, None)):
                with pytest.raises(ValueError, match=word):
                    self.function(*given, size, rng=generator, **device)
            assert generator.bit_generator.state == before

    def test_out_of_domain_is_nan(self, device):
        for parameters in self.bad:
            assert np.isnan(self.function(*parameters, 3, rng=1, **device)).all(), parameters
        for i in range(len(self.parameters)):
            parameters = [np.nan if i == j else p for j, p in enumerate(self.parameters)]
            assert np.isnan(self.function(*parameters, 3, rng=1, **device)).all()


class CountsContract(RandomContract):
    """Tests of a random function whose draws are integers; `law` is discrete. NaN is refused."""

    kind = "int"

    def check_law(self, x):
        """Chi-squared test in cells of 100 and more expected draws."""
        edges = np.unique(self.law.ppf(np.linspace(0.0, 1.0, 40)[1:-1]))
        expected = x.size * np.diff(self.law.cdf(edges), prepend=0.0, append=1.0)
        found = np.bincount(np.searchsorted(edges, x), minlength=edges.size + 1)
        cells = expected > 100.0  # the last may be empty
        statistic = ((found - expected)[cells] ** 2 / expected[cells]).sum()
        assert scipy.stats.chi2.sf(statistic, cells.sum() - 1) > 1e-3
        assert found[~cells].sum() <= 150

    def test_out_of_domain_is_nan(self, device):
        """Integers have none: ValueError, as in NumPy."""
        for i in range(len(self.parameters)):
            parameters = [np.nan if i == j else p for j, p in enumerate(self.parameters)]
            for given in (parameters, [np.array([p, p]) for p in parameters]):
                with pytest.raises(ValueError, match="nan"):
                    self.function(*given, rng=1, **device)

    def test_dtypes(self):
        for bad in ("float64", "uint8", "int16", "int63"):
            with pytest.raises(TypeError, match="counts are 'int64' or 'int32'"):
                self.draw(3, dtype=bad)
        with pytest.raises(TypeError, match="int64"):
            self.draw(3, out=np.empty(3))
