# Whether the bench of the checked container works: three rounds, each row there. No time is judged.
#
#     sh container_runs.sh CONTAINER COMMAND...

container=$1
shift
table=$("$container" -n 3 "$@")
status=$?
echo "$table"
[ $status -eq 0 ] || exit $status
case $table in "container: left out"*) exit 77 ;; esac
for name in bare floor floor-by-hand floor-libraries landlock-exec; do
    echo "$table" | grep -Eq "^$name +[0-9.]+ +-?[0-9.]+ +(-|-?[0-9.]+) +(-|-?[0-9.]+) +3\$" || {
        echo "no row for $name"
        exit 1
    }
done
