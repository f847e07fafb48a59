//! The programs, long: scripts over a small project, and variants of them made here.

pub(super) struct Program {
    pub(super) name: String,
    pub(super) script: String,
    pub(super) needs: &'static [&'static str],
}

/// The project that every program finds.
pub(super) const PROJECT: &str = "\
printf 'one\\ntwo\\nthree\\n' > a.txt; printf 'no end' > b.txt; printf 'x\\000y' > bin.dat; mkdir -p src/deep docs empty; \
printf 'int main(void) { return 0; }\\n' > src/main.c; printf '#!/bin/sh\\necho hi\\n' > run.sh; chmod 755 run.sh; \
printf '* Head\\n** TODO Task\\n' > docs/notes.org; ln -s a.txt link; ln -s nowhere dangling; echo h > hard1; ln hard1 hard2; \
echo deep > src/deep/leaf; echo ro > ro.txt; chmod 444 ro.txt; printf 'target/\\n*.o\\n' > .gitignore; echo 'name with space' > 'with space'; \
printf 'all:\\n\\tcp a.txt out.txt\\n' > Makefile; printf 'caf\\303\\251\\n' > 'caf\u{e9}.txt'; mkdir private; chmod 700 private; echo p > private/p; echo t > top; chmod 640 top";

/// Differences that `docs/sandbox.md` names: a hard link breaks when one of its names is written.
pub(super) const DIFFERENT_IN_FULL: &[&str] =
    &["append to a hard link", "truncate a hard link", "mode of a hard link"];

/// Differences that `docs/sandbox.md` names, by the start of the name: these programs use `/tmp` or
/// `/dev/shm` by its path, or name the project by its own, which cannot be moved without a mount.
pub(super) const DIFFERENT_IN_COPY: &[&str] =
    &["ed on", "ed through a pipe", "its own path", "python multiprocessing"];

/// Programs whose files have times or random names in them: compared with the diff alone.
pub(super) const UNREPEATABLE: &[&str] = &[
    "git",
    "tar",
    "zip",
    "gzip",
    "python bytecode",
    "mktemp",
    "date",
    "ar",
    "gcc",
    "cpio",
    "diff and patch",
];

pub(super) fn programs() -> Vec<Program> {
    let program = |name: &str, script: &str, needs| Program {
        name: name.into(),
        script: script.into(),
        needs,
    };
    let mut all: Vec<Program> =
        SINGLE.iter().map(|(name, script, needs)| program(name, script, *needs)).collect();
    for file in [
        "a.txt",
        "b.txt",
        "bin.dat",
        "src/main.c",
        "docs/notes.org",
        "src/deep/leaf",
        "'with space'",
        "run.sh",
        "caf\u{e9}.txt",
        "link",
        "private/p",
    ] {
        for (way, script, needs) in EACH {
            all.push(program(&format!("{way} {file}"), &script.replace('@', file), *needs));
        }
    }
    all
}

/// Done to each of some files.
const EACH: &[(&str, &str, &[&str])] = &[
    ("append to", "echo more >> @", &[]),
    ("truncate", ": > @", &[]),
    ("rewrite", "printf 'new\\n' > @", &[]),
    ("remove", "rm -f @", &[]),
    ("rename", "mv @ moved", &[]),
    ("copy", "cp -p @ copied", &[]),
    ("sed -i", "sed -i 's/o/0/g' @", &["sed"]),
    ("perl -i", "perl -pi -e 's/e/E/' @", &["perl"]),
    ("mode of", "chmod 600 @", &[]),
    ("mode to executable of", "chmod +x @", &[]),
    ("hard link to", "ln -L @ another", &[]),
    ("soft link to", "ln -s @ another", &[]),
    ("replace by a folder", "rm -f @ && mkdir @ && echo x > @/x", &[]),
    ("swap through a third name", "cp @ t3 && mv t3 @", &[]),
    ("ex on", "ex -s -c '1s/^/X/' -c x @ </dev/null >/dev/null 2>&1; true", &["ex"]),
    ("ed on", "printf '1s/^/E/\\nw\\nq\\n' | ed -s @ >/dev/null 2>&1; true", &["ed"]),
    ("dd into", "printf ZZ | dd of=@ bs=1 seek=1 conv=notrunc 2>/dev/null", &[]),
    (
        "python on",
        "python3 -c \"import sys; p=sys.argv[1]; d=open(p,'rb').read(); open(p,'wb').write(d[::-1])\" @",
        &["python3"],
    ),
    ("awk over", "awk '{print NR\": \"$0}' @ > numbered && mv numbered @", &["awk"]),
    ("sort", "sort -o @ @", &["sort"]),
    ("tee -a", "echo t | tee -a @ >/dev/null", &[]),
    ("touch", "touch @", &[]),
    ("install", "install -m 750 @ installed", &["install"]),
    ("split", "split -b 4 @ part-", &["split"]),
    (
        "patch",
        "printf '%s\\n' '--- a' '+++ b' '@@ -0,0 +1 @@' '+first' | patch -s @ 2>/dev/null; true",
        &["patch"],
    ),
];

const SINGLE: &[(&str, &str, &[&str])] = &[
    ("nothing", "true", &[]),
    ("a failure", "echo x > half; exit 3", &[]),
    ("read everything", "find . -type f -exec cat {} + >/dev/null", &["find"]),
    ("make a folder tree", "mkdir -p n/m/o && echo 1 > n/m/o/p", &[]),
    ("remove a folder", "rm -rf src", &[]),
    ("remove and make a folder anew", "rm -rf src; mkdir src; echo other > src/main.c", &[]),
    ("rename a folder", "mv src source", &[]),
    ("rename a folder into another", "mv src docs/", &[]),
    ("exchange two folders", "mv src t; mv docs src; mv t docs", &[]),
    ("a file where a folder was", "rm -rf docs; echo file > docs", &[]),
    ("a link where a folder was", "rm -rf docs; ln -s src docs", &[]),
    ("a folder where a link was", "rm link; mkdir link; echo x > link/x", &[]),
    ("a link retargeted", "ln -sfn b.txt link", &[]),
    ("a link chain", "ln -s link l2; ln -s l2 l3; cat l3 >/dev/null", &[]),
    ("a link that leads outside", "ln -s /etc/passwd out", &[]),
    ("append to a hard link", "echo more >> hard1", &[]),
    ("truncate a hard link", ": > hard2", &[]),
    ("mode of a hard link", "chmod 600 hard1", &[]),
    ("replace a hard link", "rm hard1; echo new > hard1", &[]),
    ("remove both hard links", "rm hard1 hard2", &[]),
    ("new hard links", "echo x > h1; ln h1 h2; ln h1 h3", &[]),
    ("a hard link over folders", "echo x > src/h1; ln src/h1 docs/h2", &[]),
    ("a sparse file", "truncate -s 8M sparse; printf end >> sparse", &["truncate"]),
    (
        "a sparse file with a middle",
        "truncate -s 8M sparse; printf mid | dd of=sparse bs=1 seek=4000000 conv=notrunc 2>/dev/null",
        &["truncate"],
    ),
    ("an empty file", ": > empty.txt", &[]),
    ("an empty folder", "mkdir fresh", &[]),
    ("remove an empty folder", "rmdir empty", &[]),
    (
        "all modes",
        "for m in 400 444 500 555 600 640 644 700 711 750 755 777; do echo $m > m$m; chmod $m m$m; done",
        &[],
    ),
    (
        "modes of folders",
        "chmod 750 src; chmod 711 docs; mkdir -m 700 secret-place; echo s > secret-place/s",
        &[],
    ),
    ("a folder that is read-only", "mkdir ro; echo r > ro/r; chmod 555 ro", &[]),
    ("a read-only file rewritten", "rm -f ro.txt; echo new > ro.txt; chmod 444 ro.txt", &[]),
    (
        "odd names",
        "echo 1 > 'a b  c'; echo 2 > '-dash'; echo 3 > 'quo\"te'; echo 4 > \"apo'strophe\"; echo 5 > '*star'; echo 6 > 'new\nline'; echo 7 > '%25'",
        &[],
    ),
    (
        "names that are no text",
        "printf x > \"$(printf 'bad\\377name')\"; printf y > \"$(printf 'tab\\there')\"",
        &[],
    ),
    (
        "long names",
        "n=$(printf 'n%.0s' $(seq 1 200)); echo x > $n; mkdir -p $n-d/$n; echo y > $n-d/$n/$n",
        &["seq"],
    ),
    (
        "deep folders",
        "d=.; for i in $(seq 1 60); do d=$d/d; mkdir $d; done; echo x > $d/leaf",
        &["seq"],
    ),
    (
        "a thousand files",
        "mkdir many; cd many; for i in $(seq 1 1000); do echo $i > f$i; done",
        &["seq"],
    ),
    (
        "a thousand files in folders",
        "for i in $(seq 1 50); do mkdir -p t/$i; for j in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do echo $i.$j > t/$i/$j; done; done; rm -rf t/1*",
        &["seq"],
    ),
    ("a large file", "head -c 20000000 /dev/zero | tr '\\0' x > large", &["tr"]),
    (
        "a large file changed in the middle",
        "head -c 3000000 /dev/zero > big; printf CHANGE | dd of=big bs=1 seek=1500000 conv=notrunc 2>/dev/null",
        &[],
    ),
    (
        "lines ended as on Windows",
        "printf 'a\\r\\nb\\r\\n' > crlf; sed -i 's/$/\\r/' a.txt",
        &["sed"],
    ),
    ("make", "make -s all && make -s all", &["make"]),
    (
        "make in parallel",
        "printf 'all: o1 o2 o3\\no%%:\\n\\techo $@ > $@\\n' > M2; make -s -j3 -f M2",
        &["make"],
    ),
    ("gcc", "gcc -c src/main.c -o main.o", &["gcc"]),
    ("gcc and run", "gcc src/main.c -o prog && ./prog && echo ran > ran", &["gcc"]),
    ("ar", "gcc -c src/main.c -o m.o && ar rc lib.a m.o", &["gcc", "ar"]),
    ("tar there and back", "tar cf t.tar a.txt src docs && mkdir x && tar xf t.tar -C x", &["tar"]),
    ("tar with compression", "tar czf t.tgz src && rm -rf src && tar xzf t.tgz", &["tar", "gzip"]),
    (
        "tar with links",
        "tar cf t.tar hard1 hard2 link && mkdir x && tar xf t.tar -C x && rm t.tar",
        &["tar"],
    ),
    ("zip", "zip -qr z.zip src docs", &["zip"]),
    ("gzip", "gzip -k a.txt", &["gzip"]),
    ("cpio", "find src | cpio -o > s.cpio 2>/dev/null", &["cpio"]),
    ("rsync", "rsync -a src/ mirror/", &["rsync"]),
    ("cp -a", "cp -a src src2; cp -a hard1 hard2 docs/", &[]),
    ("cp --reflink", "cp --reflink=auto bin.dat bin2.dat", &[]),
    ("mv over a file", "mv a.txt b.txt", &[]),
    (
        "git init and commit",
        "git init -q . && git -c user.name=a -c user.email=a@b add . && git -c user.name=a -c user.email=a@b commit -qm one",
        &["git"],
    ),
    (
        "git branch and merge",
        "git init -q -b main . && git config user.name a && git config user.email a@b && git add . && git commit -qm one && git checkout -q -b two && echo 2 >> a.txt && git commit -qam two && git checkout -q main && git merge -q two",
        &["git"],
    ),
    (
        "git stash",
        "git init -q . && git config user.name a && git config user.email a@b && git add . && git commit -qm one && echo x >> a.txt && git stash -q && git stash pop -q",
        &["git"],
    ),
    (
        "git mv and rm",
        "git init -q . && git config user.name a && git config user.email a@b && git add . && git commit -qm one && git mv a.txt z.txt && git rm -q b.txt",
        &["git"],
    ),
    (
        "git gc",
        "git init -q . && git config user.name a && git config user.email a@b && git add . && git commit -qm one && git gc -q",
        &["git"],
    ),
    (
        "git hook",
        "git init -q . && printf '#!/bin/sh\\n' > .git/hooks/pre-commit && chmod +x .git/hooks/pre-commit",
        &["git"],
    ),
    (
        "python bytecode",
        "mkdir pkg; echo 'x=1' > pkg/__init__.py; python3 -c 'import pkg'",
        &["python3"],
    ),
    (
        "python shutil",
        "python3 -c \"import shutil; shutil.copytree('src','s2'); shutil.move('docs','d2'); shutil.rmtree('empty')\"",
        &["python3"],
    ),
    (
        "python atomic write",
        "python3 -c \"import os; open('t','w').write('n'); os.replace('t','a.txt')\"",
        &["python3"],
    ),
    (
        "python rename in place",
        "python3 -c \"import os; [os.rename(f, f+'.bak') for f in ('a.txt','b.txt','ro.txt')]\"",
        &["python3"],
    ),
    (
        "python threads and locks",
        "python3 -c \"import threading,fcntl; f=open('lock','w'); fcntl.flock(f,2); t=[threading.Thread(target=lambda i=i: open(f'th{i}','w').write(str(i))) for i in range(8)]; [x.start() for x in t]; [x.join() for x in t]\"",
        &["python3"],
    ),
    (
        "python multiprocessing",
        "python3 -c \"from multiprocessing import Pool; import os; p=Pool(2); print(p.map(abs,[-1,-2])); open('mp','w').write('ok')\"; true",
        &["python3"],
    ),
    (
        "python mmap",
        "python3 -c \"import mmap; f=open('a.txt','r+b'); m=mmap.mmap(f.fileno(),0); m[0:3]=b'ONE'; m.flush(); m.close()\"",
        &["python3"],
    ),
    (
        "python sqlite",
        "python3 -c \"import sqlite3; c=sqlite3.connect('db'); c.execute('create table t(x)'); c.execute('insert into t values(1)'); c.commit()\"",
        &["python3"],
    ),
    ("vim", "vim -es -u NONE -c '%s/o/0/g' -c wq a.txt </dev/null >/dev/null 2>&1; true", &["vim"]),
    (
        "vim with a backup",
        "vim -es -u NONE -c 'set backup backupcopy=no' -c '1d' -c wq a.txt </dev/null >/dev/null 2>&1; true",
        &["vim"],
    ),
    (
        "emacs in batch",
        "emacs -Q --batch a.txt --eval '(progn (goto-char (point-max)) (insert \"end\\n\") (save-buffer))' 2>/dev/null; true",
        &["emacs"],
    ),
    ("ed through a pipe", "printf '1d\\nw\\nq\\n' | ed -s a.txt >/dev/null", &["ed"]),
    (
        "perl unlink and mkdir",
        "perl -e 'unlink \"a.txt\"; mkdir \"a.txt\"; open F, \">a.txt/in\"; print F 1'",
        &["perl"],
    ),
    ("awk to files", "awk '{ print > (\"line-\" NR) }' a.txt", &["awk"]),
    ("csplit", "csplit -s a.txt 2", &["csplit"]),
    ("find -delete", "find . -name '*.txt' -type f -delete", &["find"]),
    ("find -exec", "find src -type f -exec sed -i 's/i/I/' {} +", &["find", "sed"]),
    ("xargs", "ls *.txt | xargs -n1 -I{} cp {} {}.copy", &["xargs"]),
    (
        "many renames",
        "for f in *.txt; do mv \"$f\" \"$f.1\"; done; for f in *.1; do mv \"$f\" \"${f%.1}\"; done",
        &[],
    ),
    ("written and taken back", "cp a.txt keep; echo x > a.txt; mv keep a.txt", &[]),
    ("made and removed", "mkdir tmp-x; echo 1 > tmp-x/y; rm -rf tmp-x", &[]),
    (
        "removed and made anew",
        "cp -p a.txt ../a 2>/dev/null; cat a.txt > $TMPDIR/k; rm a.txt; cat $TMPDIR/k > a.txt",
        &[],
    ),
    (
        "a pipe and a socket",
        "mkfifo pipe; perl -MIO::Socket::UNIX -e 'IO::Socket::UNIX->new(Local=>\"sock\",Listen=>1)'; rm -f pipe sock; echo ok > ok",
        &["mkfifo", "perl"],
    ),
    ("a script of the project", "./run.sh > said", &[]),
    (
        "a script that it makes",
        "printf '#!/bin/sh\\necho made > by-script\\n' > s.sh; chmod +x s.sh; ./s.sh",
        &[],
    ),
    ("in the background", "(sleep 0.1; echo late > late) & wait", &[]),
    (
        "build output",
        "mkdir -p target/debug; for i in 1 2 3 4 5; do echo $i > target/debug/$i; done; echo o > x.o; echo real > real",
        &[],
    ),
    (
        "a key",
        "printf -- '-----BEGIN PRIVATE KEY-----\\nMIIB\\n-----END PRIVATE KEY-----\\n' > id.pem; chmod 600 id.pem",
        &[],
    ),
    ("a secret setting", "echo 'API_KEY=q8Zr41LmPx7Tn2Vw' > .env", &[]),
    (
        "things that run later",
        "mkdir -p .github/workflows .vscode; echo 'on: push' > .github/workflows/ci.yml; echo '{}' > .vscode/tasks.json; echo 'use x' > .envrc; echo 'fn main(){}' > build.rs",
        &[],
    ),
    ("org capture", "printf '** TODO New\\n' >> docs/notes.org", &[]),
    ("org state", "sed -i 's/TODO Task/DONE Task/' docs/notes.org", &["sed"]),
    (
        "diff and patch",
        "cp a.txt a2; echo four >> a2; diff -u a.txt a2 > p.diff; patch -s a.txt p.diff; rm a2",
        &["patch", "diff"],
    ),
    ("umask", "umask 077; echo private > u1; umask 000; echo open > u2", &[]),
    (
        "a private folder",
        "echo more >> private/p; mkdir -m 700 private/sub; echo s > private/sub/s",
        &[],
    ),
    ("cd and back", "cd src && echo x > up && cd .. && cd docs && echo y > down", &[]),
    ("its own path", "echo \"$PWD\" | sed 's/.*\\///' > name; test -d \"$PWD/src\"", &["sed"]),
    (
        "base64 and checksums",
        "base64 bin.dat > b64; sha256sum a.txt > sums; sha256sum -c --quiet sums",
        &["base64", "sha256sum"],
    ),
    (
        "join, paste, cut",
        "paste a.txt a.txt > p; cut -c1-2 a.txt > c; join a.txt a.txt > j",
        &["paste", "cut", "join"],
    ),
    ("truncate longer and shorter", "truncate -s 100 a.txt; truncate -s 2 b.txt", &["truncate"]),
    (
        "fallocate",
        "fallocate -l 100000 pre; printf x | dd of=pre conv=notrunc 2>/dev/null",
        &["fallocate"],
    ),
    ("holes punched", "cp /bin/sh s; fallocate -p -o 4096 -l 8192 s", &["fallocate"]),
    ("flock", "flock lockfile sh -c 'echo locked > got'", &["flock"]),
    ("shred", "shred -u b.txt", &["shred"]),
    (
        "logger of a build",
        "for i in 1 2 3; do echo \"step $i\"; done | tee build.log >/dev/null",
        &[],
    ),
];
