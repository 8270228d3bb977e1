"""CuPy: great-circle distances between positions (three days, 48 million pairs each), and their travel time."""
import cupy as cp

N, DAYS = 48_000_000, 3
R = 6371.0

haversine = cp.ElementwiseKernel(
    "float32 lat1, float32 lon1, float32 lat2, float32 lon2", "float32 hours",
    """
    float s = sinf((lat2 - lat1) * 0.5f);
    float t = sinf((lon2 - lon1) * 0.5f);
    float a = s * s + cosf(lat1) * cosf(lat2) * t * t;
    hours = 2.0f * 6371.0f * asinf(sqrtf(a)) / 80.0f + 0.25f;
    """, "haversine_hours")


@cp.fuse()
def chord(s, t, c1, c2):
    return cp.sqrt(s * s + c1 * c2 * t * t)


def setup():
    rng = cp.random.RandomState(0)
    days = [[rng.random_sample(N, dtype=cp.float32) for _ in range(4)] for _ in range(DAYS)]
    return {"days": days}


def before(state):
    results = []
    for lat1, lon1, lat2, lon2 in state["days"]:
        s = cp.sin((lat2 - lat1) * 0.5)
        t = cp.sin((lon2 - lon1) * 0.5)
        a = s * s + cp.cos(lat1) * cp.cos(lat2) * t * t
        km = 2.0 * R * cp.arcsin(cp.sqrt(a))
        results.append(km / 80.0 + 0.25)
    return tuple(results)


def partly(state):
    results = []
    for lat1, lon1, lat2, lon2 in state["days"]:
        sine = cp.sin((lat2 - lat1) * 0.5)
        tine = cp.sin((lon2 - lon1) * 0.5)
        root = chord(sine, tine, cp.cos(lat1), cp.cos(lat2))
        far = 2.0 * R * cp.arcsin(root)
        results.append(far / 80.0 + 0.25)
    return tuple(results)


def after(state):
    results = []
    for lat1, lon1, lat2, lon2 in state["days"]:
        results.append(haversine(lat1, lon1, lat2, lon2))
    return tuple(results)


VARIANTS = {"before": before, "partly": partly, "after": after}
TOLERANCE = 1e-3
