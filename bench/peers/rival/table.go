package rival

import "fmt"

// table lists the subjects in the order of reports. To add a library, write its
// adapter in a file of its own and list it here.
var table = []func() []Subject{
	ours,         // this library
	twins,        // its semantics behind a lock
	gobreakers,   // sony/gobreaker
	dropins,      // our stand-in for it
	failsafes,    // failsafe-go
	cep21s,       // cep21/circuit
	mercaris,     // mercari/go-circuitbreaker
	hystrixes,    // afex/hystrix-go
	rubyists,     // rubyist/circuitbreaker
	eapaches,     // eapache/go-resiliency
	gozeros,      // zeromicro/go-zero
	aegises,      // go-kratos/aegis
	sentinels,    // alibaba/sentinel-golang
	oxies,        // vulcand/oxy
	bytedances,   // bytedance/gopkg
	autobreakers, // 1mb-dev/autobreaker
}

// Subjects returns every subject: ours, our twins behind a lock, the rivals.
func Subjects() []Subject {
	var all []Subject
	for _, of := range table {
		all = append(all, of()...)
	}
	return all
}

// Find returns the subject with the given key, such as impl=ours/api=acquire.
func Find(key string) (Subject, error) {
	for _, s := range Subjects() {
		if s.Key() == key {
			return s, nil
		}
	}
	return Subject{}, fmt.Errorf("no subject %q", key)
}
