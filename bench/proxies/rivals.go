package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/atomicbreaker/breaker/contrib/breakerhttp"
)

// rival is a proxy: how to find it, and how to start it in front of backends.
type rival struct {
	name   string
	find   func(context.Context) error
	config string // with LISTEN, PORT, A, B and DIR to be filled in
	file   string
	argv   func(file, dir string) []string
	dir    string
}

func allRivals(dir string) []rival {
	ourCaddy := filepath.Join(dir, "caddy")
	return []rival{
		{name: "pool", find: func(context.Context) error { return nil }, dir: dir},
		{name: "nginx", find: installed("nginx"), config: nginxConfig, file: "nginx.conf", dir: dir,
			argv: func(file, dir string) []string {
				return []string{"nginx", "-p", dir, "-e", filepath.Join(dir, "error.log"), "-c", file}
			}},
		{name: "haproxy", find: installed("haproxy"), config: haproxyConfig, file: "haproxy.cfg", dir: dir,
			argv: func(file, _ string) []string { return []string{"haproxy", "-db", "-q", "-f", file} }},
		{name: "caddy", find: installed("caddy"), config: caddyConfig, file: "Caddyfile", dir: dir, argv: caddyArgs("caddy")},
		{name: "caddy with breakers", find: func(ctx context.Context) error { return buildCaddy(ctx, ourCaddy) },
			config: ourCaddyConfig, file: "Caddyfile", dir: dir, argv: caddyArgs(ourCaddy)},
	}
}

func installed(name string) func(context.Context) error {
	return func(context.Context) error {
		// Debian keeps servers where an ordinary user's PATH does not look.
		os.Setenv("PATH", os.Getenv("PATH")+":/usr/sbin:/usr/local/sbin")
		if _, err := exec.LookPath(name); err != nil {
			return fmt.Errorf("not installed: apt-get install %s", name)
		}
		return nil
	}
}

func caddyArgs(binary string) func(file, dir string) []string {
	return func(file, _ string) []string {
		return []string{binary, "run", "--adapter", "caddyfile", "--config", file}
	}
}

// buildCaddy makes the Caddy of examples/caddy.
func buildCaddy(ctx context.Context, to string) error {
	ctx, cancel := context.WithTimeout(ctx, 8*time.Minute)
	defer cancel()
	build := exec.CommandContext(ctx, "go", "build", "-o", to, ".")
	build.Dir = filepath.Join("examples", "caddy")
	build.Env = append(os.Environ(), "GOWORK=off")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("go build in %s (run this from the repository's root): %w: %s", build.Dir, err, out)
	}
	return nil
}

// start runs the proxy. stop ends it and waits for its end.
func (r rival) start(ctx context.Context, addr, a, b string) (stop func(), err error) {
	dir, err := os.MkdirTemp(r.dir, "run")
	if err != nil {
		return nil, err
	}
	var argv []string
	if r.argv == nil {
		self, err := os.Executable()
		if err != nil {
			return nil, err
		}
		argv = []string{self, "-serve", addr, "http://" + a, "http://" + b}
	} else {
		_, port, err := net.SplitHostPort(addr)
		if err != nil {
			return nil, err
		}
		text := strings.NewReplacer("LISTEN", addr, "PORT", port, "BACKEND_A", a, "BACKEND_B", b, "DIR", dir).Replace(r.config)
		file := filepath.Join(dir, r.file)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			return nil, err
		}
		argv = r.argv(file, dir)
	}
	log, err := os.Create(filepath.Join(dir, "output"))
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Env = append(os.Environ(), "HOME="+dir, "XDG_DATA_HOME="+dir, "XDG_CONFIG_HOME="+dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	if err := cmd.Start(); err != nil {
		log.Close()
		return nil, err
	}
	return func() {
		syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // with nginx's worker
		cmd.Wait()
		log.Close()
	}, nil
}

// servePool is the pool as a program of its own, like its rivals. What is set
// is what is set for them.
func servePool(ctx context.Context, addr string, backends []string) error {
	pool, err := breakerhttp.NewPool(breakerhttp.PoolConfig{Backends: backends, ResponseTimeout: time.Second})
	if err != nil {
		return err
	}
	server := &http.Server{Addr: addr, Handler: pool.Proxy(), ReadHeaderTimeout: 10 * time.Second}
	stopped := context.AfterFunc(ctx, func() { server.Close() })
	defer stopped()
	return server.ListenAndServe()
}

const nginxConfig = `daemon off;
worker_processes 1;
pid DIR/nginx.pid;
events { worker_connections 4096; }
http {
	access_log off;
	client_body_temp_path DIR/body;
	proxy_temp_path DIR/proxy;
	fastcgi_temp_path DIR/fastcgi;
	uwsgi_temp_path DIR/uwsgi;
	scgi_temp_path DIR/scgi;
	upstream backends {
		server BACKEND_A max_fails=3 fail_timeout=2s;
		server BACKEND_B max_fails=3 fail_timeout=2s;
		keepalive 64;
	}
	server {
		listen LISTEN;
		location / {
			proxy_pass http://backends;
			proxy_http_version 1.1;
			proxy_set_header Connection "";
			proxy_connect_timeout 1s;
			proxy_read_timeout 1s;
			proxy_next_upstream error timeout http_502 http_503 http_504;
		}
	}
}
`

const haproxyConfig = `global
	maxconn 4096
defaults
	mode http
	timeout connect 1s
	timeout client 10s
	timeout server 1s
	retries 2
	option redispatch 1
	retry-on conn-failure empty-response response-timeout 502 503 504
frontend front
	bind LISTEN
	default_backend backends
backend backends
	balance roundrobin
	option httpchk GET /healthz
	http-request disable-l7-retry if METH_POST
	default-server check inter 500ms fall 2 rise 2 observe layer7 error-limit 10 on-error mark-down
	server a BACKEND_A
	server b BACKEND_B
`

const caddyConfig = `{
	admin off
	auto_https off
}
http://:PORT {
	bind 127.0.0.1
	reverse_proxy BACKEND_A BACKEND_B {
		lb_policy round_robin
		lb_retries 2
		fail_duration 2s
		max_fails 3
		unhealthy_status 5xx
		transport http {
			dial_timeout 1s
			response_header_timeout 1s
		}
	}
}
`

const ourCaddyConfig = `{
	admin off
	auto_https off
}
http://:PORT {
	bind 127.0.0.1
	reverse_proxy BACKEND_A BACKEND_B {
		lb_policy atomicbreaker round_robin
		lb_retries 2
		lb_retry_match {
			expression "{method} == 'GET' && ({rp.is_transport_error} || {rp.status_code} in [502, 503, 504])"
		}
		transport atomicbreaker {
			transport http {
				dial_timeout 1s
				response_header_timeout 1s
			}
		}
	}
}
`
