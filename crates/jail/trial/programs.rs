//! Programs over a stage.
use crate::world::{World, text, essence};
pub(crate) fn run_as_root(rest: &[&str]) -> Result<(), String> { run(rest) }
pub(crate) fn run(_: &[&str]) -> Result<(), String> {
    let w = World::new("programs")?;
    println!("{:?}", w.jail.capabilities().layer);
    for r in &w.jail.capabilities().facts.reasons { println!("{r}"); }
    std::fs::write(w.project().join("a"), "one\ntwo\n").map_err(text)?;
    let s = w.stage()?;
    let t = std::time::Instant::now();
    let (o, out) = w.run(&w.script("pwd; id; ls -la / /tmp; echo three >> a; mkdir d; echo x > d/y; ls -la; cat /proc/self/status | grep -E 'Cap|NoNew|Secc'; ip addr 2>&1; ps ax; exit 3"), Some(&s))?;
    println!("{:?} {out} {:?}", o, t.elapsed());
    let c = s.changes().map_err(text)?;
    println!("{}", c.patch().map_err(text)?);
    println!("{:?}", c.facts().map_err(text)?);
    let j = bridle_jail::CommitJournal::new(w.path("commits"));
    let done = j.commit(&c, &c.hash(), &mut |p| println!("{p:?}")).map_err(text)?;
    println!("{done:?} {:?}", essence(&w.project())?.keys());
    j.undo(&done.id, &mut |_| {}).map_err(text)?;
    println!("{:?}", essence(&w.project())?.keys());
    Ok(())
}
