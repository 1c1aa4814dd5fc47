//go:build !unix && !windows

package local

import "syscall"

var exhausted = []error{syscall.EMFILE}
