# Whether the bench of watching works: one round, each row there. No time is judged.
#
#     sh trace_runs.sh TRACE LANDLOCK-EXEC LANDLOCK-POLICY PROGRAM

trace=$1
shift
table=$("$trace" -n 1 "$@")
status=$?
echo "$table"
[ $status -eq 0 ] || exit $status
for name in landlock-exec trace; do
    echo "$table" | grep -Eq "^$name +[0-9.]+ +[0-9.]+\$" || {
        echo "no row for $name"
        exit 1
    }
done
