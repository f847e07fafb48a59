//! The loop around a conversation: keys, messages and time go in, what it orders is done, and the
//! screen is painted once for all that came together.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::clipboard;
use crate::conversation::{ChatOptions, Conversation};
use crate::error::ChatError;
use crate::event::{ChatEffect, ChatEvent};
use crate::files;
use crate::image;
use crate::link::{self, LinkCommand, LinkNews, LinkOrder, LinkRoute};
use crate::notebook::{ChatNotebook, FolderSession};
use crate::painter::TerminalPainter;
use crate::queries;
use crate::style::StyledLine;
use crate::terminal::{self, HeldTerminal};

/// Pause between two paintings while text streams and no key is pressed.
const PAINT_PAUSE: Duration = Duration::from_millis(16);

/// Events taken before the next painting.
const MAX_TAKEN: usize = 512;

/// Order of a person: with whom to talk, and about what.
#[derive(Debug)]
pub struct ChatOrder {
    /// Way to the daemon.
    pub route: LinkRoute,
    /// Session to open first.
    pub session: String,
    /// Sentence about it.
    pub greeting: Option<String>,
    /// Whether to begin with the list of sessions.
    pub pick: bool,
    /// Name of this client: nobody else has it.
    pub client: String,
    /// Folder where it was started.
    pub folder: PathBuf,
    /// Folder of the files that are kept between conversations.
    pub state: PathBuf,
    /// Names of new sessions.
    pub new_name: fn(&std::path::Path) -> String,
}

/// Event of any source.
#[derive(Debug)]
enum DriverEvent {
    /// A key, an answer to a query.
    Chat(ChatEvent),
    /// News of the connection.
    Link(LinkNews),
    /// A signal, or the end of the terminal.
    Leave,
}

impl From<ChatEvent> for DriverEvent {
    fn from(event: ChatEvent) -> DriverEvent {
        DriverEvent::Chat(event)
    }
}

/// Moments since 1970 that only go on.
#[derive(Debug, Clone, Copy)]
struct ChatClock {
    began: Instant,
    began_at: Duration,
}

impl ChatClock {
    fn new() -> ChatClock {
        let began_at = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        ChatClock { began: Instant::now(), began_at }
    }

    fn now(&self) -> u64 {
        u64::try_from((self.began_at + self.began.elapsed()).as_millis()).unwrap_or(u64::MAX)
    }
}

/// Holds a conversation on this terminal until the person leaves. Returns the name of the session.
///
/// # Errors
/// There is no terminal, it is gone, or a program that leads to the daemon does not get there.
pub fn run(order: ChatOrder) -> Result<String, ChatError> {
    if !terminal::is_terminal() {
        return Err(ChatError::NoTerminal);
    }
    let (out, events) = channel();
    let cursor = Arc::new(AtomicU64::new(0));
    let (link, commands) = channel();
    let link_order = LinkOrder {
        route: order.route.clone(),
        session: order.session.clone(),
        client: order.client.clone(),
        cursor: Arc::clone(&cursor),
    };
    let (own, tell) = (link.clone(), out.clone());
    let tell = move |news| {
        // Nobody listens when the conversation has ended.
        let _ = tell.send(DriverEvent::Link(news));
    };
    spawn("link", move || link::run(link_order, &commands, own, tell))?;
    // A program may ask for a password on this terminal: it is left alone until that is over.
    let first = match &order.route {
        LinkRoute::Program { .. } => Some(reached(&events)?),
        LinkRoute::Targets(_) => None,
    };
    let mut driver = ChatDriver::new(order, out, link, cursor)?;
    let ended = driver.run(first, &events);
    driver.finish();
    ended.map(|()| driver.session)
}

/// Waits for the first connection.
fn reached(events: &Receiver<DriverEvent>) -> Result<DriverEvent, ChatError> {
    match events.recv() {
        Ok(DriverEvent::Link(LinkNews { event: ChatEvent::Lost(why), .. }))
        | Ok(DriverEvent::Link(LinkNews { event: ChatEvent::Refused(why), .. })) => {
            Err(ChatError::Unreached(why))
        }
        Ok(event) => Ok(event),
        Err(_) => Err(ChatError::Unreached("the connection ended".to_owned())),
    }
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    std::thread::Builder::new().name(name.to_owned()).spawn(work).map(drop)
}

/// Everything that belongs to a conversation on a terminal.
struct ChatDriver {
    conversation: Conversation,
    painter: TerminalPainter,
    terminal: HeldTerminal,
    clock: ChatClock,
    notebook: ChatNotebook,
    folder: PathBuf,
    route: LinkRoute,
    new_name: fn(&std::path::Path) -> String,
    session: String,
    out: Sender<DriverEvent>,
    link: Sender<LinkCommand>,
    cursor: Arc<AtomicU64>,
    /// Connections up to this one belong to a session that was left.
    left: u64,
    connection: u64,
    /// Lines that wait for the end of a pager.
    printed: Vec<StyledLine>,
    /// Sequences for the terminal beside the painting.
    beside: String,
    is_over: bool,
}

impl ChatDriver {
    fn new(
        order: ChatOrder,
        out: Sender<DriverEvent>,
        link: Sender<LinkCommand>,
        cursor: Arc<AtomicU64>,
    ) -> Result<ChatDriver, ChatError> {
        let notebook = ChatNotebook::new(&order.state);
        terminal::watch_signals(out.clone(), || DriverEvent::Leave)?;
        let held = HeldTerminal::take()?;
        let keys = out.clone();
        spawn("keys", move || terminal::read_keys(&keys, || DriverEvent::Leave))?;
        let size = held.size();
        let conversation = Conversation::new(ChatOptions {
            size,
            client: order.client,
            folder: order.folder.to_str().map(str::to_owned),
            history: notebook.prompts(),
            greeting: order.greeting,
        });
        let driver = ChatDriver {
            conversation,
            painter: TerminalPainter::new(size, terminal::colors(), terminal::reflow()),
            terminal: held,
            clock: ChatClock::new(),
            notebook,
            folder: order.folder,
            route: order.route,
            new_name: order.new_name,
            session: order.session,
            out,
            link,
            cursor,
            left: 0,
            connection: 0,
            printed: Vec::new(),
            beside: String::new(),
            is_over: false,
        };
        if order.pick {
            driver.list_sessions()?;
        }
        Ok(driver)
    }

    fn run(
        &mut self,
        first: Option<DriverEvent>,
        events: &Receiver<DriverEvent>,
    ) -> Result<(), ChatError> {
        if let Some(event) = first {
            self.take(event)?;
        }
        self.paint()?;
        while !self.is_over {
            let wait = self.conversation.next_change().map(Duration::from_millis);
            match events.recv_timeout(wait.unwrap_or(Duration::from_secs(3_600))) {
                Ok(event) => {
                    let is_key = self.is_for_a_person(&event);
                    self.take(event)?;
                    self.take_more(events, is_key)?;
                }
                Err(RecvTimeoutError::Timeout) => self.hand(ChatEvent::Tick)?,
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            }
            self.paint()?;
        }
        Ok(())
    }

    /// Takes what came meanwhile. What streams waits a little, so that many pieces are one painting; a key
    /// does not wait.
    fn take_more(
        &mut self,
        events: &Receiver<DriverEvent>,
        mut is_key: bool,
    ) -> Result<(), ChatError> {
        let until = Instant::now() + PAINT_PAUSE;
        for _ in 0..MAX_TAKEN {
            if self.is_over {
                break;
            }
            let left = until.saturating_duration_since(Instant::now());
            let next = match is_key {
                true => events.try_recv().ok(),
                false => events.recv_timeout(left).ok(),
            };
            let Some(event) = next else { break };
            is_key |= self.is_for_a_person(&event);
            self.take(event)?;
        }
        Ok(())
    }

    fn is_for_a_person(&self, event: &DriverEvent) -> bool {
        !matches!(event, DriverEvent::Link(LinkNews { event: ChatEvent::Frame(_), .. }))
    }

    fn take(&mut self, event: DriverEvent) -> Result<(), ChatError> {
        match event {
            DriverEvent::Leave => {
                self.is_over = true;
                Ok(())
            }
            DriverEvent::Link(news) if self.is_stale(&news) => Ok(()),
            DriverEvent::Link(news) => {
                self.connection = self.connection.max(news.connection);
                if let ChatEvent::Attached { session, .. } = &news.event {
                    self.session.clone_from(session);
                    self.keep(String::new());
                }
                self.hand(news.event)
            }
            DriverEvent::Chat(event) => {
                if let ChatEvent::Resize(..) = event {
                    self.painter.resize(self.terminal.size());
                }
                self.hand(event)
            }
        }
    }

    /// Whether news are of a session that was left.
    fn is_stale(&self, news: &LinkNews) -> bool {
        let says = matches!(news.event, ChatEvent::Attached { .. } | ChatEvent::Frame(_));
        says && news.connection <= self.left
    }

    fn hand(&mut self, event: ChatEvent) -> Result<(), ChatError> {
        let effects = self.conversation.take(event, self.clock.now());
        for effect in effects {
            self.carry_out(effect)?;
        }
        self.cursor.store(self.conversation.cursor(), Ordering::Release);
        Ok(())
    }

    fn carry_out(&mut self, effect: ChatEffect) -> Result<(), ChatError> {
        match effect {
            ChatEffect::Send(form) => self.command(LinkCommand::Send(form)),
            ChatEffect::Print(lines) => self.printed.extend(lines),
            // What cannot be kept is missing next time, and nothing else.
            ChatEffect::Remember(text) => drop(self.notebook.keep_prompt(&text)),
            ChatEffect::Title(session, title) if session == self.session => self.keep(title),
            ChatEffect::Title(..) => {}
            ChatEffect::Copy(text) => {
                self.beside.push_str(&clipboard::sequence(&text).unwrap_or_default());
            }
            ChatEffect::FindFiles => {
                let folder = self.folder.clone();
                self.find(move |_| ChatEvent::Files(files::below(&folder)))?;
            }
            ChatEffect::ListSessions => self.list_sessions()?,
            ChatEffect::Switch(name) => {
                self.left = self.connection;
                let name = name.unwrap_or_else(|| (self.new_name)(&self.folder));
                self.command(LinkCommand::Switch(name));
            }
            ChatEffect::ReadImage { path } => {
                self.find(move |_| ChatEvent::Image(image::read_file(&path)))?;
            }
            ChatEffect::ReadClipboard => {
                self.find(|_| ChatEvent::Image(image::read_clipboard()))?;
            }
            ChatEffect::Replay(session, columns) => {
                self.find(move |route| ChatEvent::Page(queries::replay(route, &session, columns)))?;
            }
            ChatEffect::PreviewGrant(approval) => {
                self.find(move |route| ChatEvent::Grant(queries::preview_grant(route, &approval)))?;
            }
            ChatEffect::WriteGrant { approval, scope, hash } => self.find(move |route| {
                ChatEvent::Granted(queries::write_grant(route, &approval, &scope, hash))
            })?,
            ChatEffect::Bell => self.beside.push('\u{7}'),
            ChatEffect::Repaint => self.start_page(),
            ChatEffect::Suspend => self.suspend()?,
            ChatEffect::Leave => self.is_over = true,
        }
        Ok(())
    }

    fn command(&self, command: LinkCommand) {
        // The link ends after this only.
        let _ = self.link.send(command);
    }

    /// Asks something that takes time, on a thread of its own.
    fn find(
        &self,
        work: impl FnOnce(&LinkRoute) -> ChatEvent + Send + 'static,
    ) -> Result<(), ChatError> {
        let (out, route) = (self.out.clone(), self.route.clone());
        spawn("query", move || drop(out.send(work(&route).into())))?;
        Ok(())
    }

    fn list_sessions(&self) -> Result<(), ChatError> {
        let known = self.notebook.sessions();
        self.find(move |route| {
            ChatEvent::Sessions(queries::sessions(route, &known).unwrap_or_default())
        })
    }

    /// Notes that the session is used in this folder.
    fn keep(&self, title: String) {
        let Some(folder) = self.folder.to_str() else { return };
        let (session, folder) = (self.session.clone(), folder.to_owned());
        let at = i64::try_from(self.clock.now()).unwrap_or(i64::MAX);
        // What cannot be kept is missing next time, and nothing else.
        let _ = self.notebook.keep_session(&FolderSession { session, folder, title, at });
    }

    /// Moves what is on the screen to the scrollback, so that nothing is lost, and paints on an empty one.
    fn start_page(&mut self) {
        let size = self.terminal.size();
        self.painter.finish(&std::mem::take(&mut self.printed), &mut self.beside);
        self.beside.push_str(&"\r\n".repeat(size.rows));
        self.beside.push_str("\u{1b}[H");
        self.painter.start_over(size);
    }

    fn suspend(&mut self) -> Result<(), ChatError> {
        self.finish();
        self.terminal.suspend()?;
        let size = self.terminal.size();
        self.painter.start_over(size);
        self.hand(ChatEvent::Resize(size.columns, size.rows))
    }

    fn paint(&mut self) -> Result<(), ChatError> {
        let mut out = std::mem::take(&mut self.beside);
        match self.conversation.page() {
            Some(page) => self.painter.paint_pager(&page, &mut out),
            None => {
                let printed = std::mem::take(&mut self.printed);
                self.painter.paint(&printed, &self.conversation.area(), &mut out);
            }
        }
        Ok(self.terminal.write(&out)?)
    }

    /// Removes the live area.
    fn finish(&mut self) {
        let mut out = String::new();
        self.painter.finish(&std::mem::take(&mut self.printed), &mut out);
        // A terminal that is gone shows nothing.
        let _ = self.terminal.write(&out);
    }
}
