package main
import ("context";"fmt";"os"; "github.com/atomicbreaker/breaker/verify/coherence")
func main(){ all,err:=coherence.Run(context.Background()); if err!=nil{fmt.Fprintln(os.Stderr,err);os.Exit(1)}; for _,r:=range all{fmt.Println(r)}}
