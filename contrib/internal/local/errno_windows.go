package local

import "syscall"

// As Winsock numbers them.
var exhausted = []error{
	syscall.Errno(10024), // WSAEMFILE
	syscall.Errno(10049), // WSAEADDRNOTAVAIL
	syscall.Errno(10055), // WSAENOBUFS
	syscall.Errno(14),    // ERROR_OUTOFMEMORY
}
