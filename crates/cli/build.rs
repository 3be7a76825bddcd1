//! Links the program without its symbols, which are a quarter of its size. The profile keeps them for libraries and
//! tests, whose failures print backtraces with names.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|system| system == "linux") {
        println!("cargo::rustc-link-arg-bins=-Wl,--strip-all");
    }
}
