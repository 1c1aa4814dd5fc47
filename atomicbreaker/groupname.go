package atomicbreaker

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// groupName is a valid breaker name for a key, whatever the key holds: keys
// may come from strangers. What a name cannot hold becomes U+FFFD, and what is
// too long is cut; two keys may then have one name, never one breaker.
func groupName(base, key string) string {
	key = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return utf8.RuneError
		}
		return r
	}, strings.ToValidUTF8(key, string(utf8.RuneError)))
	name := key
	if base != "" {
		name = base + " " + key
	}
	if len(name) <= maxName {
		return name
	}
	cut := maxName
	for !utf8.RuneStart(name[cut]) {
		cut--
	}
	return name[:cut]
}
