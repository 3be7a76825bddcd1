/* Stands between a program and libc (LD_PRELOAD): records what the program does to the files below a folder, and lets calls
 * fail. The environment says what:
 *
 *   ATSDB_DISK_ROOT   the folder
 *   ATSDB_DISK_LOG    the file that the records go to
 *   ATSDB_DISK_FAIL   KINDS:FIRST:COUNT:ERRNO: of the calls of these kinds, those from FIRST (1 is the first) on fail, COUNT of
 *                     them. Kinds: o open, w write, t truncate, s sync, u unlink, m mkdir, n link, r read, l lock, p mmap, i fstat.
 *                     With errno 0 the process is killed instead; with errno -1 reads and writes do half of what is asked, and say so.
 *
 * A record is: kind (1 byte), 3 bytes of nothing, length of the path (u32), inode (u64), offset (u64), length of the data
 * (u64), path, data; in the machine's byte order. Writes to a file whose name ends in .ack are marks of the program's own.
 * What is mapped into memory is not seen: SQLite does that with the index of its log alone, which need not outlive a power cut. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILES_MAX 65536
#define REAL(name) __typeof__(&name) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

static pthread_mutex_t mutex = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static char root[PATH_MAX];
static int log_file = -1;
static char *paths[FILES_MAX];
static char fail_kinds[16];
static long fail_first, fail_count, fail_error, calls;

__attribute__((constructor)) static void begin(void) {
    const char *folder = getenv("ATSDB_DISK_ROOT"), *log = getenv("ATSDB_DISK_LOG"), *fail = getenv("ATSDB_DISK_FAIL");
    if (!folder || !log) return;
    REAL(open);
    log_file = real(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    snprintf(root, sizeof root, "%s", folder);
    if (fail) sscanf(fail, "%15[a-z]:%ld:%ld:%ld", fail_kinds, &fail_first, &fail_count, &fail_error);
}

static int is_watched(const char *path) {
    size_t length = strlen(root);
    return length && path && !strncmp(path, root, length) && (path[length] == '/' || !path[length]);
}

static const char *watched(int file) {
    return file >= 0 && file < FILES_MAX ? paths[file] : NULL;
}

static void put(const void *bytes, size_t length) {
    REAL(write);
    const char *at = bytes;
    while (length) {
        ssize_t done = real(log_file, at, length);
        if (done <= 0) abort();
        at += done;
        length -= done;
    }
}

static void record(char kind, const char *path, uint64_t inode, uint64_t offset, const void *data, uint64_t length) {
    int kept = errno;
    struct { char kind, nothing[3]; uint32_t path_length; uint64_t inode, offset, length; } head;
    memset(&head, 0, sizeof head);
    head.kind = kind, head.path_length = strlen(path), head.inode = inode, head.offset = offset;
    head.length = data ? length : 0;
    put(&head, sizeof head);
    put(path, head.path_length);
    if (data) put(data, length);
    errno = kept;
}

static uint64_t inode_of(int file) {
    struct stat found;
    REAL(fstat);
    return real(file, &found) ? 0 : found.st_ino;
}

static int is_mark(const char *path) {
    size_t length = strlen(path);
    return length > 4 && !strcmp(path + length - 4, ".ack");
}

/* Whether this call is to fail; errno is set then. */
static int fails(char kind, const char *path) {
    if (!strchr(fail_kinds, kind) || is_mark(path)) return 0;
    calls++;
    if (calls < fail_first || calls >= fail_first + fail_count) return 0;
    record('F', path, 0, kind, NULL, 0);
    if (!fail_error) raise(SIGKILL);
    if (fail_error > 0) errno = fail_error;
    return 1;
}

static int opened(const char *path, int flags, mode_t mode, int (*real)(const char *, int, ...)) {
    if (!is_watched(path)) return real(path, flags, mode);
    pthread_mutex_lock(&mutex);
    int file = -1;
    if (!fails('o', path)) {
        struct stat found;
        int is_new = (flags & O_CREAT) && stat(path, &found);
        file = real(path, flags, mode);
        if (file >= 0 && file < FILES_MAX) {
            free(paths[file]);
            paths[file] = strdup(path);
            if (is_new) record('C', path, inode_of(file), 0, NULL, 0);
            else if (flags & O_TRUNC) record('T', path, inode_of(file), 0, NULL, 0);
        }
    }
    pthread_mutex_unlock(&mutex);
    return file;
}

#define OPEN(name)                                              \
    int name(const char *path, int flags, ...) {                \
        va_list rest;                                           \
        va_start(rest, flags);                                  \
        mode_t mode = flags & O_CREAT ? va_arg(rest, int) : 0;  \
        va_end(rest);                                           \
        REAL(name);                                             \
        return opened(path, flags, mode, real);                 \
    }
OPEN(open)
OPEN(open64)

int close(int file) {
    REAL(close);
    pthread_mutex_lock(&mutex);
    if (watched(file)) {
        free(paths[file]);
        paths[file] = NULL;
    }
    int done = real(file);
    pthread_mutex_unlock(&mutex);
    return done;
}

/* The first half of a write that fails is there all the same. */
static ssize_t written(int file, const void *bytes, size_t length, off_t offset, int has_offset) {
    REAL(pwrite);
    __typeof__(&write) plain = (__typeof__(&write))dlsym(RTLD_NEXT, "write");
    const char *path = watched(file);
    if (!path) return has_offset ? real(file, bytes, length, offset) : plain(file, bytes, length);
    pthread_mutex_lock(&mutex);
    if (is_mark(path)) {
        record('A', path, 0, 0, bytes, length);
        pthread_mutex_unlock(&mutex);
        return length;
    }
    off_t at = has_offset ? offset : lseek(file, 0, SEEK_CUR);
    int failed = fails('w', path), error = errno;
    ssize_t done = real(file, bytes, failed ? length / 2 : length, at);
    if (done > 0) {
        record('W', path, inode_of(file), at, bytes, done);
        if (!has_offset && !failed) lseek(file, at + done, SEEK_SET);
    }
    if (failed && fail_error > 0) done = -1, errno = error;
    else if (failed && !has_offset && done > 0) lseek(file, at + done, SEEK_SET);
    pthread_mutex_unlock(&mutex);
    return done;
}

ssize_t write(int file, const void *bytes, size_t length) { return written(file, bytes, length, 0, 0); }
ssize_t pwrite(int file, const void *bytes, size_t length, off_t offset) { return written(file, bytes, length, offset, 1); }
ssize_t pwrite64(int file, const void *bytes, size_t length, off64_t offset) { return written(file, bytes, length, offset, 1); }

static int truncated(int file, off_t length, int (*real)(int, off_t)) {
    const char *path = watched(file);
    if (!path) return real(file, length);
    pthread_mutex_lock(&mutex);
    int done = fails('t', path) ? -1 : real(file, length);
    if (!done) record('T', path, inode_of(file), length, NULL, 0);
    pthread_mutex_unlock(&mutex);
    return done;
}

int ftruncate(int file, off_t length) { REAL(ftruncate); return truncated(file, length, real); }
int ftruncate64(int file, off64_t length) { REAL(ftruncate64); return truncated(file, length, real); }

/* The disk is the image's: there is nothing to wait for. */
static int synced(int file, int (*real)(int)) {
    const char *path = watched(file);
    if (!path) return real(file);
    pthread_mutex_lock(&mutex);
    int failed = fails('s', path);
    record(failed ? 'X' : 'S', path, inode_of(file), 0, NULL, 0);
    pthread_mutex_unlock(&mutex);
    return failed ? -1 : 0;
}

int fsync(int file) { REAL(fsync); return synced(file, real); }
int fdatasync(int file) { REAL(fdatasync); return synced(file, real); }

static int unnamed(const char *path, int (*real)(const char *)) {
    if (!is_watched(path)) return real(path);
    pthread_mutex_lock(&mutex);
    int done = fails('u', path) ? -1 : real(path);
    if (!done) record('U', path, 0, 0, NULL, 0);
    pthread_mutex_unlock(&mutex);
    return done;
}

int unlink(const char *path) { REAL(unlink); return unnamed(path, real); }

int mkdir(const char *path, mode_t mode) {
    REAL(mkdir);
    if (!is_watched(path)) return real(path, mode);
    pthread_mutex_lock(&mutex);
    int done = fails('m', path) ? -1 : real(path, mode);
    if (!done) record('M', path, 0, 0, NULL, 0);
    pthread_mutex_unlock(&mutex);
    return done;
}

int rename(const char *from, const char *to) {
    REAL(rename);
    pthread_mutex_lock(&mutex);
    int done = real(from, to);
    if (!done && is_watched(from)) record('R', from, 0, 0, to, strlen(to));
    pthread_mutex_unlock(&mutex);
    return done;
}

int link(const char *from, const char *to) {
    REAL(link);
    if (!is_watched(to)) return real(from, to);
    pthread_mutex_lock(&mutex);
    int done = fails('n', to) ? -1 : real(from, to);
    if (!done) record('L', from, 0, 0, to, strlen(to));
    pthread_mutex_unlock(&mutex);
    return done;
}

int linkat(int from_folder, const char *from, int to_folder, const char *to, int flags) {
    if (is_watched(to)) return link(from, to);
    REAL(linkat);
    return real(from_folder, from, to_folder, to, flags);
}

/* The half of a read that is short. */
static size_t some(size_t length) { return fail_error < 0 ? (length + 1) / 2 : length; }

#define FAILING(type, name, kind, declared, passed, short_passed)                          \
    type name declared {                                                                   \
        REAL(name);                                                                        \
        const char *path = watched(file);                                                  \
        if (!path) return real passed;                                                     \
        pthread_mutex_lock(&mutex);                                                        \
        int failed = fails(kind, path);                                                    \
        type done = !failed ? real passed : fail_error < 0 ? real short_passed : (type)-1; \
        pthread_mutex_unlock(&mutex);                                                      \
        return done;                                                                       \
    }
#define READ(name, declared, passed, short_passed) FAILING(ssize_t, name, 'r', declared, passed, short_passed)
READ(read, (int file, void *bytes, size_t length), (file, bytes, length), (file, bytes, some(length)))
READ(pread, (int file, void *bytes, size_t length, off_t offset), (file, bytes, length, offset),
     (file, bytes, some(length), offset))
READ(pread64, (int file, void *bytes, size_t length, off64_t offset), (file, bytes, length, offset),
     (file, bytes, some(length), offset))

#define ALL(type, name, kind, declared, passed) FAILING(type, name, kind, declared, passed, passed)
ALL(int, fstat, 'i', (int file, struct stat *found), (file, found))
ALL(int, fstat64, 'i', (int file, struct stat64 *found), (file, found))
ALL(void *, mmap, 'p', (void *at, size_t length, int access, int flags, int file, off_t offset),
    (at, length, access, flags, file, offset))
ALL(void *, mmap64, 'p', (void *at, size_t length, int access, int flags, int file, off64_t offset),
    (at, length, access, flags, file, offset))

/* To take a lock can fail; to give one back cannot. */
int flock(int file, int operation) {
    REAL(flock);
    const char *path = watched(file);
    if (!path || operation & LOCK_UN) return real(file, operation);
    pthread_mutex_lock(&mutex);
    int done = fails('l', path) ? -1 : real(file, operation);
    pthread_mutex_unlock(&mutex);
    return done;
}

static int controlled(int file, int command, void *argument, int (*real)(int, int, ...)) {
    const char *path = watched(file);
    int takes = (command == F_SETLK || command == F_SETLKW) && ((struct flock *)argument)->l_type != F_UNLCK;
    if (!path || !takes) return real(file, command, argument);
    pthread_mutex_lock(&mutex);
    int done = fails('l', path) ? -1 : real(file, command, argument);
    pthread_mutex_unlock(&mutex);
    return done;
}

#define CONTROL(name)                                     \
    int name(int file, int command, ...) {                \
        va_list rest;                                     \
        va_start(rest, command);                          \
        void *argument = va_arg(rest, void *);            \
        va_end(rest);                                     \
        REAL(name);                                       \
        return controlled(file, command, argument, real); \
    }
CONTROL(fcntl)
CONTROL(fcntl64)
