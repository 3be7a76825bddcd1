//! External programs as clients. A test is skipped if its program is missing.

use crate::client::server;
use std::process::Command;

#[test]
fn curl_writes_lines() {
    let server = server();
    let url = format!("http://{}/write?db=air&precision=s", server.address);
    let body = "air,station=north pm10=17.5,pm25=9i 1700000000";
    let curl = Command::new("curl").args(["-sS", "-i", "-XPOST", &url, "--data-binary", body]).output();
    let Ok(output) = curl else {
        eprintln!("skipped: there is no curl");
        return;
    };
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.starts_with("HTTP/1.1 204 No Content"), "{text} {}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(server.rows("SELECT station, pm10, pm25 FROM air"), ["north | 17.5 | 9"]);
}
