# SPDX-License-Identifier: Apache-2.0
"""The simulated device for training-loop-shaped Python programs.

Calls libcuda.so.1 (GPUSIM_LIB, else next to a build) through ctypes, which lets go of the
interpreter lock for each call as a real binding does. GPUSIM_DIR names the device.
"""
import ctypes
import glob
import itertools
import os
import threading

NOT_READY = 600

SPIN, YIELD, BLOCKING = 1, 2, 4  # context flags
EVENT_BLOCKING_SYNC, EVENT_DISABLE_TIMING = 1, 2
NON_BLOCKING = 1  # stream flag
CPU = -1  # where prefetched memory can go, beside a device

_PER_THREAD = 2  # stream handle

_SUFFIX = "_ns"  # a kernel with such a name takes its duration as its parameter


class CudaError(RuntimeError):
    def __init__(self, function, code):
        super().__init__(f"{function}: {_error_name(code)} ({code})")
        self.code = code


def _find_library():
    named = os.environ.get("GPUSIM_LIB")
    if named:
        return named
    here = os.path.dirname(os.path.abspath(__file__))
    root = os.path.dirname(os.path.dirname(here))
    places = [os.path.join(here, "lib"), os.path.join(root, "build", "tools", "gpusim", "lib")]
    places += sorted(glob.glob(os.path.join(root, "build", "*", "tools", "gpusim", "lib")))
    for place in places:
        path = os.path.join(place, "libcuda.so.1")
        if os.path.exists(path):
            return path
    raise OSError("libcuda.so.1 of the simulated driver not found: set GPUSIM_LIB")


_U64 = ctypes.c_uint64
_PTR = ctypes.c_void_p
_UINT = ctypes.c_uint
_SIZE = ctypes.c_size_t

_HOST_FUNCTION = ctypes.CFUNCTYPE(None, _PTR)

_SIGNATURES = {
    "cuInit": [_UINT],
    "cuGetErrorName": [ctypes.c_int, ctypes.POINTER(ctypes.c_char_p)],
    "cuDeviceGet": [ctypes.POINTER(ctypes.c_int), ctypes.c_int],
    "cuDeviceGetName": [ctypes.c_char_p, ctypes.c_int, ctypes.c_int],
    "cuDevicePrimaryCtxRetain": [ctypes.POINTER(_PTR), ctypes.c_int],
    "cuCtxCreate_v2": [ctypes.POINTER(_PTR), _UINT, ctypes.c_int],
    "cuCtxSetCurrent": [_PTR],
    "cuCtxSynchronize": [],
    "cuStreamCreate": [ctypes.POINTER(_PTR), _UINT],
    "cuStreamSynchronize": [_PTR],
    "cuStreamQuery": [_PTR],
    "cuStreamWaitEvent": [_PTR, _PTR, _UINT],
    "cuEventCreate": [ctypes.POINTER(_PTR), _UINT],
    "cuEventRecord": [_PTR, _PTR],
    "cuEventQuery": [_PTR],
    "cuEventSynchronize": [_PTR],
    "cuEventElapsedTime": [ctypes.POINTER(ctypes.c_float), _PTR, _PTR],
    "cuMemAlloc_v2": [ctypes.POINTER(_U64), _SIZE],
    "cuMemFree_v2": [_U64],
    "cuMemAllocHost_v2": [ctypes.POINTER(_PTR), _SIZE],
    "cuMemFreeHost": [_PTR],
    "cuMemAllocAsync": [ctypes.POINTER(_U64), _SIZE, _PTR],
    "cuMemFreeAsync": [_U64, _PTR],
    "cuMemAllocManaged": [ctypes.POINTER(_U64), _SIZE, _UINT],
    "cuMemPrefetchAsync": [_U64, _SIZE, ctypes.c_int, _PTR],
    "cuMemHostRegister_v2": [_PTR, _SIZE, _UINT],
    "cuMemHostUnregister": [_PTR],
    "cuMemcpyHtoD_v2": [_U64, _PTR, _SIZE],
    "cuMemcpyDtoH_v2": [_PTR, _U64, _SIZE],
    "cuMemcpyAsync": [_U64, _U64, _SIZE, _PTR],
    "cuMemsetD8Async": [_U64, ctypes.c_ubyte, _SIZE, _PTR],
    "cuMemcpyHtoDAsync_v2": [_U64, _PTR, _SIZE, _PTR],
    "cuMemcpyDtoHAsync_v2": [_PTR, _U64, _SIZE, _PTR],
    "cuModuleLoadData": [ctypes.POINTER(_PTR), ctypes.c_char_p],
    "cuModuleGetFunction": [ctypes.POINTER(_PTR), _PTR, ctypes.c_char_p],
    "cuDeviceGetCount": [ctypes.POINTER(ctypes.c_int)],
    "cuLaunchHostFunc": [_PTR, _HOST_FUNCTION, _PTR],
    "cuStreamBeginCapture_v2": [_PTR, ctypes.c_int],
    "cuStreamEndCapture": [_PTR, ctypes.POINTER(_PTR)],
    "cuGraphInstantiateWithFlags": [ctypes.POINTER(_PTR), _PTR, ctypes.c_ulonglong],
    "cuGraphLaunch": [_PTR, _PTR],
    "cuGraphDestroy": [_PTR],
    "cuGraphExecDestroy": [_PTR],
    "cuStreamDestroy_v2": [_PTR],
    "cuEventDestroy_v2": [_PTR],
    "cuLaunchKernel": [_PTR] + [_UINT] * 7 + [_PTR, ctypes.POINTER(_PTR), _PTR],
}


def _load():
    library = ctypes.CDLL(_find_library())
    for name, arguments in _SIGNATURES.items():
        function = getattr(library, name)
        function.argtypes = arguments
        function.restype = ctypes.c_int
    return library


_cuda = _load()


# One entry for all host functions, which must outlive the call that it is in.
_host_lock = threading.Lock()
_host_numbers = itertools.count(1)
_host_functions = {}


def _run_host_function(number):
    with _host_lock:
        function = _host_functions.pop(number)
    function()


_host_entry = _HOST_FUNCTION(_run_host_function)


def _error_name(code):
    name = ctypes.c_char_p()
    _cuda.cuGetErrorName(code, ctypes.byref(name))
    return name.value.decode() if name.value else "unknown error"


def _check(name, *arguments):
    code = getattr(_cuda, name)(*arguments)
    if code != 0:
        raise CudaError(name, code)


def _host_memory(data):
    """(address, bytes, owner) of a tensor or of anything with the buffer protocol."""
    if hasattr(data, "data_ptr"):
        nbytes = data.nbytes if hasattr(data, "nbytes") else data.numel() * data.element_size()
        return data.data_ptr(), nbytes, data
    view = memoryview(data).cast("B")
    if view.readonly:
        # ctypes takes the address of writable buffers only; bytes keeps its own.
        raw = data if isinstance(data, bytes) else view.tobytes()
        return ctypes.cast(ctypes.c_char_p(raw), _PTR).value, view.nbytes, raw
    array = (ctypes.c_char * view.nbytes).from_buffer(view)
    return ctypes.addressof(array), view.nbytes, array


def device_count():
    _check("cuInit", 0)
    count = ctypes.c_int()
    _check("cuDeviceGetCount", ctypes.byref(count))
    return count.value


class Stream:
    """A stream of the device; `handle` None is the legacy default stream."""

    def __init__(self, device, handle):
        self._device = device
        self.handle = handle

    def synchronize(self):
        self._device.bind()
        _check("cuStreamSynchronize", self.handle)

    def query(self):
        self._device.bind()
        code = _cuda.cuStreamQuery(self.handle)
        if code not in (0, NOT_READY):
            raise CudaError("cuStreamQuery", code)
        return code == 0

    def wait_event(self, event):
        self._device.bind()
        _check("cuStreamWaitEvent", self.handle, event.handle, 0)

    def host_function(self, function):
        """Has the driver's thread call `function()` when the stream comes to it. It must not use
        the device. Needs the interpreter lock, so a thread that holds it delays the stream."""
        self._device.bind()
        self._device.call_on_host(self.handle, function)

    def capture(self):
        """`with stream.capture() as graph: ...; graph.launch()`."""
        return _Capturing(self)

    def destroy(self):
        _check("cuStreamDestroy_v2", self.handle)

    def record_event(self, event=None):
        event = event or Event(self._device)
        event.record(self)
        return event


class Event:
    def __init__(self, device, flags=0):
        self._device = device
        device.bind()
        self.handle = _PTR()
        _check("cuEventCreate", ctypes.byref(self.handle), flags)

    def record(self, stream=None):
        self._device.bind()
        _check("cuEventRecord", self.handle, stream.handle if stream else None)

    def query(self):
        code = _cuda.cuEventQuery(self.handle)
        if code not in (0, NOT_READY):
            raise CudaError("cuEventQuery", code)
        return code == 0

    def synchronize(self):
        self._device.bind()
        _check("cuEventSynchronize", self.handle)

    def elapsed_ms(self, end):
        milliseconds = ctypes.c_float()
        _check("cuEventElapsedTime", ctypes.byref(milliseconds), self.handle, end.handle)
        return milliseconds.value

    def destroy(self):
        self._device.bind()
        _check("cuEventDestroy_v2", self.handle)


class Graph:
    """What a stream captured, ready to be launched."""

    def __init__(self, device):
        self._device = device
        self.handle = _PTR()

    def launch(self, stream=None):
        self._device.bind()
        _check("cuGraphLaunch", self.handle, stream.handle if stream else None)

    def destroy(self):
        _check("cuGraphExecDestroy", self.handle)


class _Capturing:
    def __init__(self, stream):
        self._stream = stream
        self._graph = Graph(stream._device)

    def __enter__(self):
        self._stream._device.bind()
        _check("cuStreamBeginCapture_v2", self._stream.handle, 2)
        return self._graph

    def __exit__(self, kind, *_):
        captured = _PTR()
        code = _cuda.cuStreamEndCapture(self._stream.handle, ctypes.byref(captured))
        if kind is not None:
            return
        if code != 0:
            raise CudaError("cuStreamEndCapture", code)
        _check("cuGraphInstantiateWithFlags", ctypes.byref(self._graph.handle), captured, 0)
        _check("cuGraphDestroy", captured)


class DeviceBuffer:
    """Device memory; freed by free() or with the last reference, either of which waits for it."""

    def __init__(self, device, nbytes):
        self._device = device
        self._pid = os.getpid()
        self.nbytes = nbytes
        self.pointer = _U64()
        device.bind()
        self._allocate()

    def _allocate(self):
        _check("cuMemAlloc_v2", ctypes.byref(self.pointer), self.nbytes)

    def free(self):
        # In a forked child the memory is the parent's.
        if self.pointer.value and self._pid == os.getpid():
            self._device.bind()
            _check("cuMemFree_v2", self.pointer)
        self.pointer = _U64()

    def __del__(self):
        if getattr(self, "pointer", None):
            self.free()


class ManagedBuffer(DeviceBuffer):
    """Memory of host and device, with the buffer protocol by way of `view`."""

    def _allocate(self):
        _check("cuMemAllocManaged", ctypes.byref(self.pointer), self.nbytes, 1)
        raw = (ctypes.c_char * self.nbytes).from_address(self.pointer.value)
        self.view = memoryview(raw).cast("B")

    def prefetch(self, to=0, stream=None):
        """Moves it to the device of that ordinal, or to the CPU."""
        self._device.bind()
        handle = stream.handle if stream else None
        _check("cuMemPrefetchAsync", self.pointer, self.nbytes, to, handle)


class StreamBuffer(DeviceBuffer):
    """Device memory in the order of a stream: free() waits for nothing."""

    def __init__(self, device, nbytes, stream):
        self._stream = stream.handle if stream else None
        super().__init__(device, nbytes)

    def _allocate(self):
        _check("cuMemAllocAsync", ctypes.byref(self.pointer), self.nbytes, self._stream)

    def free(self, stream=None):
        if self.pointer.value and self._pid == os.getpid():
            self._device.bind()
            _check("cuMemFreeAsync", self.pointer, stream.handle if stream else self._stream)
        self.pointer = _U64()


class PinnedBuffer:
    """Page-locked host memory with the buffer protocol by way of `view`."""

    def __init__(self, device, nbytes):
        device.bind()
        self.pointer = _PTR()
        self.nbytes = nbytes
        _check("cuMemAllocHost_v2", ctypes.byref(self.pointer), nbytes)
        self.view = memoryview((ctypes.c_char * nbytes).from_address(self.pointer.value)).cast("B")

    def data_ptr(self):
        return self.pointer.value

    def free(self):
        self.view.release()
        _check("cuMemFreeHost", self.pointer)


_bound = threading.local()  # `device`: whose context is current in the thread


class Device:
    """A device with a context. `flags` (SPIN, YIELD, BLOCKING) None takes the primary context
    (mode by GPUSIM_SYNC)."""

    def __init__(self, ordinal=0, flags=None):
        _check("cuInit", 0)
        device = ctypes.c_int()
        _check("cuDeviceGet", ctypes.byref(device), ordinal)
        self._context = _PTR()
        if flags is None:
            _check("cuDevicePrimaryCtxRetain", ctypes.byref(self._context), device)
        else:
            _check("cuCtxCreate_v2", ctypes.byref(self._context), flags, device)
        self._lock = threading.Lock()
        self._functions = {}
        self._buffers = {}
        self.default_stream = Stream(self, None)
        self.per_thread_stream = Stream(self, _PTR(_PER_THREAD))
        self.bind()
        name = ctypes.create_string_buffer(128)
        _check("cuDeviceGetName", name, len(name), device)
        self.name = name.value.decode()

    def bind(self):
        """Makes the context current in this thread."""
        if getattr(_bound, "device", None) is self:
            return
        _check("cuCtxSetCurrent", self._context)
        _bound.device = self

    def stream(self, flags=NON_BLOCKING):
        self.bind()
        handle = _PTR()
        _check("cuStreamCreate", ctypes.byref(handle), flags)
        return Stream(self, handle)

    def event(self, flags=0):
        return Event(self, flags)

    def alloc(self, nbytes):
        return DeviceBuffer(self, nbytes)

    def alloc_async(self, nbytes, stream=None):
        return StreamBuffer(self, nbytes, stream)

    def free_async(self, buffer, stream=None):
        buffer.free(stream)

    def managed(self, nbytes):
        return ManagedBuffer(self, nbytes)

    def pinned(self, nbytes):
        return PinnedBuffer(self, nbytes)

    def call_on_host(self, handle, function):
        with _host_lock:
            number = next(_host_numbers)
            _host_functions[number] = function
        _check("cuLaunchHostFunc", handle, _host_entry, number)

    def launch(self, ns, stream=None, name="kernel"):
        """Launches a kernel of `ns` nanoseconds; it is named `name` with _ns behind it."""
        self.bind()
        function = self._functions.get(name) or self._load_function(name)
        duration = _U64(int(ns))
        params = (_PTR * 1)(ctypes.cast(ctypes.byref(duration), _PTR))
        handle = stream.handle if stream else None
        _check("cuLaunchKernel", function, 1, 1, 1, 1, 1, 1, 0, handle, params, None)

    def copy_to_device(self, data, buffer=None, stream=None):
        """Copies host memory in, to `buffer` or to one kept for this size. Returns the buffer."""
        self.bind()
        address, nbytes, owner = _host_memory(data)
        buffer = buffer or self._kept_buffer(nbytes)
        if nbytes > buffer.nbytes:
            raise ValueError(f"{nbytes} bytes into a buffer of {buffer.nbytes}")
        handle = stream.handle if stream else None
        _check("cuMemcpyHtoDAsync_v2", buffer.pointer, address, nbytes, handle)
        del owner  # alive until here: the bytes have left the source when the call returns
        return buffer

    def copy_to_host(self, data, buffer, stream=None):
        """Copies from `buffer` into writable host memory; synchronous unless that is pinned."""
        self.bind()
        address, nbytes, owner = _host_memory(data)
        if not hasattr(data, "data_ptr") and memoryview(data).readonly:
            raise ValueError("the destination is read-only")
        if nbytes > buffer.nbytes:
            raise ValueError(f"{nbytes} bytes from a buffer of {buffer.nbytes}")
        handle = stream.handle if stream else None
        _check("cuMemcpyDtoHAsync_v2", address, buffer.pointer, nbytes, handle)
        del owner

    def upload(self, data, buffer=None):
        """As copy_to_device(), in the default stream, and waits for its end."""
        self.bind()
        address, nbytes, owner = _host_memory(data)
        buffer = buffer or self._kept_buffer(nbytes)
        if nbytes > buffer.nbytes:
            raise ValueError(f"{nbytes} bytes into a buffer of {buffer.nbytes}")
        _check("cuMemcpyHtoD_v2", buffer.pointer, address, nbytes)
        del owner
        return buffer

    def copy_between(self, to, source, nbytes=None, stream=None):
        """Copies between buffers, of this device or of several."""
        self.bind()
        nbytes = min(to.nbytes, source.nbytes) if nbytes is None else nbytes
        handle = stream.handle if stream else None
        _check("cuMemcpyAsync", to.pointer, source.pointer, nbytes, handle)

    def fill(self, buffer, value=0, stream=None):
        self.bind()
        handle = stream.handle if stream else None
        _check("cuMemsetD8Async", buffer.pointer, value, buffer.nbytes, handle)

    def synchronize(self):
        self.bind()
        _check("cuCtxSynchronize")

    def _kept_buffer(self, nbytes):
        with self._lock:
            if nbytes not in self._buffers:
                self._buffers[nbytes] = DeviceBuffer(self, nbytes)
            return self._buffers[nbytes]

    def _load_function(self, name):
        symbol = f"{name}{_SUFFIX}".encode()
        with self._lock:
            module = _PTR()
            function = _PTR()
            _check("cuModuleLoadData", ctypes.byref(module), b"kernel " + symbol + b"\n")
            _check("cuModuleGetFunction", ctypes.byref(function), module, symbol)
            self._functions[name] = function
            return function
