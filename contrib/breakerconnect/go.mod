module github.com/atomicbreaker/breaker/contrib/breakerconnect

go 1.26.0

replace github.com/atomicbreaker/breaker => ../..

require (
	connectrpc.com/connect v1.21.1
	github.com/atomicbreaker/breaker v0.0.0
	google.golang.org/genproto/googleapis/rpc v0.0.0-20261110000943-09e21b237f2c
	google.golang.org/protobuf v1.36.12
)

require (
	github.com/loov/hrtime v1.0.3 // indirect
	golang.org/x/sys v0.50.0 // indirect
)
