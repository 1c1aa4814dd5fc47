package lockstep

import "slices"

// Shrink returns a program that still fails and is as short and plain as it
// can be made by leaving operations out and zeroing bytes.
func Shrink(program []byte, fails func([]byte) bool) []byte {
	if len(program) < headerLen {
		program = append(slices.Clone(program), make([]byte, headerLen-len(program))...)
	}
	for size := (len(program) - headerLen) / stepLen; size > 0; {
		before := len(program)
		for at := headerLen; at+size*stepLen <= len(program); {
			without := slices.Delete(slices.Clone(program), at, at+size*stepLen)
			if fails(without) {
				program = without
			} else {
				at += size * stepLen
			}
		}
		if len(program) == before || size > (len(program)-headerLen)/stepLen {
			size /= 2
		}
	}
	for i := range program {
		for _, plainer := range []byte{0, program[i] / 2, program[i] - 1} {
			if program[i] == 0 {
				break
			}
			with := slices.Clone(program)
			with[i] = plainer
			if fails(with) {
				program = with
			}
		}
	}
	return program
}
