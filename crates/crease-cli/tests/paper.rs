//! `crease paper`: items one by one, as text, JSON and a page, and faults.

mod tool;

use serde_json::json;
use tool::{crease, fault, file, json as run_json, ok, usage};

#[test]
fn one_item_says_what_is_claimed_run_and_found() {
    let text = ok(&["paper", "--item", "case-3"]);
    let expected = "case-3  Case 3. log (Appendix B.1)  agrees
  claims     d(a) = 1/a takes one operation more: cost(g) = 1, cost(gd) = 2.
  run        the operation as a program, with its backprop, counted
    figure                          paper  crease
    cost(log)                       1      1       agrees
    cost of log and its derivative  2      2       agrees

1 item, 2 figures: 1 agree, 0 agree but for an erratum, 0 differ
";
    assert_eq!(text, expected, "got:\n{text}");
}

#[test]
fn items_come_in_the_papers_order_with_the_errata_that_they_meet() {
    let got = run_json(&["paper", "--item", "figure-1", "--item", "table-1", "--json"]);
    assert_eq!((&got["complete"], &got["agrees"]), (&json!(true), &json!(true)));
    assert_eq!((&got["items"][0]["item"], &got["items"][1]["item"]), (&json!("table-1"), &json!("figure-1")));
    assert_eq!((&got["items"][1]["kind"], &got["items"][1]["number"]), (&json!("figure"), &json!(1)));
    let facts = got["items"][1]["facts"].as_array().expect("facts");
    let slip = facts.iter().find(|f| f["verdict"] == "erratum").expect("a slip");
    assert_eq!((&slip["paper"], &slip["crease"], &slip["erratum"]), (&json!("×"), &json!("+"), &json!("p2-node")));
    assert_eq!(got["errata"].as_array().map(Vec::len), Some(1));
    let text = ok(&["paper", "--item", "figure-1"]);
    assert!(text.contains("Errata\n\np2-node\n  where"), "{text}");
}

#[test]
fn the_list_names_what_can_be_asked() {
    let list = ok(&["paper", "--list"]);
    for id in ["example-1", "theorem-2", "case-14", "lemma-3", "chaining"] {
        assert!(list.lines().any(|l| l.split_whitespace().next() == Some(id)), "{id}");
    }
    assert_eq!(run_json(&["paper", "--list", "--json"])["items"].as_array().map(Vec::len), Some(list.lines().count()));
}

#[test]
fn the_page_needs_nothing_but_itself() {
    let path = file("paper_page", "page.html", "");
    let said = ok(&["paper", "--item", "theorem-3", "--item", "figure-1", "--html", &path]);
    assert!(said.contains(&format!("the page is in {path}\n")), "{said}");
    let html = std::fs::read_to_string(&path).expect("the page");
    assert!(html.starts_with("<!doctype html>") && html.contains("</html>"));
    for outside in ["src=", "href=\"http", "url(h", "<script", "@import"] {
        assert!(!html.contains(outside), "{outside}");
    }
    assert_eq!(html.matches("<svg").count(), 5); // four programs and a plot
    // every link within the page arrives
    for link in html.split("href=\"#").skip(1).filter_map(|rest| rest.split('"').next()) {
        assert!(html.contains(&format!("id=\"{link}\"")), "{link}");
    }
}

#[test]
fn faults() {
    assert_eq!(
        fault(&["paper", "--item", "theorem-9"]),
        "--item theorem-9: the paper has no such item; `crease paper --list` names all\n"
    );
    let nowhere = fault(&["paper", "--item", "case-1", "--html", "no/such/folder/page.html"]);
    assert!(nowhere.starts_with("no/such/folder/page.html cannot be written: "), "{nowhere}");
    usage(&["paper", "--list", "--item", "case-1"]);
    usage(&["paper", "--json", "--html", "x.html"]);
    assert_eq!(crease(&["paper", "extra"]).output().expect("the tool starts").status.code(), Some(2));
}
