//! Which requests get a copy, and how many: decided from the head of a request or, where the body decides, at its end.

mod bucket;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use arc_swap::ArcSwap;
use exchange::SkipReason;
use http::{HeaderMap, Method};
use xxhash_rust::xxh3::{Xxh3, xxh3_64_with_seed};

use crate::account::Run;
use crate::config::{By, Fraction, Sampling};
use bucket::Bucket;

/// Chooses requests by the plan in force, which may change at any time.
#[derive(Debug)]
pub(crate) struct Sampler {
    plan: ArcSwap<Plan>,
    seen: AtomicU64,
    told: AtomicBool,
}

/// What is in force: a sampling and the run that it fills.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) sampling: Sampling,
    pub(crate) run: Arc<Run>,
    /// Copies of a chosen request, by index of the shadow.
    copies: Vec<f64>,
    /// Whether the copies are whole numbers, so that nothing is left to a hash.
    whole: bool,
    bucket: Option<Arc<Bucket>>,
}

/// What the head of a request says.
#[derive(Debug)]
pub(crate) enum Choice {
    /// It gets no copy.
    No,
    /// It gets copies.
    Yes(Chosen),
    /// Its body says, when it has come.
    ByBody(Undecided),
}

/// A request that gets copies. Whoever holds it keeps its run open.
#[derive(Debug, Clone)]
pub(crate) struct Chosen {
    plan: Arc<Plan>,
    route: usize,
    hash: u64,
}

/// A request whose body has not been seen.
#[derive(Debug)]
pub(crate) struct Undecided {
    plan: Arc<Plan>,
    route: usize,
}

impl Plan {
    /// `before` is the plan that this one follows: a bound on the rate that stays the same goes on where it is.
    pub(crate) fn new(sampling: Sampling, run: Arc<Run>, shadows: &[String], before: Option<&Self>) -> Self {
        let copies: Vec<f64> = shadows.iter().map(|shadow| sampling.copies_of(shadow)).collect();
        let going_on = before.filter(|before| before.sampling.cap == sampling.cap);
        let bucket = match going_on {
            Some(before) => before.bucket.clone(),
            None => sampling.cap.map(|cap| Arc::new(Bucket::new(cap))),
        };
        Self { whole: copies.iter().all(|copies| copies.fract() == 0.0), copies, run, bucket, sampling }
    }

    fn fraction(&self, route: usize) -> Fraction {
        self.sampling.routes[route].sample.unwrap_or(self.sampling.fraction)
    }

    fn copies(&self, shadow: usize, hash: u64) -> u32 {
        let copies = self.copies[shadow];
        // The same for all shadows, so that a fraction of a candidate and of a control gets the same requests; another hash than
        // the one that chose the request, which lies below the fraction.
        let one_more =
            !self.whole && Fraction::of_rest(copies).takes(xxh3_64_with_seed(&hash.to_le_bytes(), 1));
        // Settings are far below 2^32 and not negative.
        copies as u32 + u32::from(one_more)
    }

    /// A chosen request, unless a bound on the rate or the copies keep it from all shadows.
    fn admit(self: &Arc<Self>, route: usize, hash: u64, load: impl Fn(usize) -> u32) -> Option<Chosen> {
        let copies = |shadow| self.copies(shadow, hash);
        let shadows = 0..self.copies.len();
        let all: u32 = shadows.clone().map(copies).sum();
        if all == 0 {
            return None;
        }
        if let Some(bucket) = &self.bucket
            && !bucket.take(all, Instant::now())
        {
            for shadow in shadows.filter(|shadow| copies(*shadow) > 0) {
                self.run.account.capped(shadow, copies(shadow), load(shadow));
            }
            return None;
        }
        Some(Chosen { plan: self.clone(), route, hash })
    }
}

impl Sampler {
    pub(crate) fn new(plan: Plan) -> Self {
        Self { plan: ArcSwap::from_pointee(plan), seen: AtomicU64::new(0), told: AtomicBool::new(false) }
    }

    /// The plan in force.
    pub(crate) fn plan(&self) -> Arc<Plan> {
        self.plan.load_full()
    }

    /// Puts another plan in force: for each request whose head is read from now on.
    pub(crate) fn follow(&self, plan: Plan) {
        self.plan.store(Arc::new(plan));
    }

    /// What the head of a request says. `load` tells the requests under way at a shadow, for the account of what a bound on the rate
    /// keeps away.
    pub(crate) fn choose(
        &self,
        method: &Method,
        path: &str,
        headers: &HeaderMap,
        load: impl Fn(usize) -> u32,
    ) -> Choice {
        let plan = self.plan.load();
        let routes = &plan.sampling.routes;
        let route = routes.iter().position(|route| route.matches(method, path, headers));
        let Some(route) = route.filter(|route| routes[*route].mirror) else {
            self.skip(&plan, route.is_some(), method, path);
            return Choice::No;
        };
        let fraction = plan.fraction(route);
        if fraction == Fraction::NONE {
            return Choice::No;
        }
        let schedule = plan.sampling.schedule;
        if schedule.is_set() && !schedule.open(crate::now_us()) {
            plan.run.account.skipped(SkipReason::OutsideSchedule);
            return Choice::No;
        }
        let all = fraction == Fraction::ALL;
        if plan.sampling.by == By::Body && !(all && plan.whole) {
            return Choice::ByBody(Undecided { plan: plan.clone(), route });
        }
        let hash = if all && plan.whole { 0 } else { self.hash(&plan.sampling, headers) };
        if !all && !fraction.takes(hash) {
            return Choice::No;
        }
        plan.admit(route, hash, load).map_or(Choice::No, Choice::Yes)
    }

    /// Counts a request that no route allows. Safe methods (RFC 9110, section 9.2.1) ask for no inference and are not worth a count.
    fn skip(&self, plan: &Plan, named: bool, method: &Method, path: &str) {
        if method.is_safe() {
            return;
        }
        plan.run.account.skipped(SkipReason::Route);
        if !named && !self.told.load(Ordering::Relaxed) && !self.told.swap(true, Ordering::Relaxed) {
            tracing::info!(
                %method,
                path,
                "no route allows this request: it is not mirrored, nor are others like it; a [[route]] for its path would change that"
            );
        }
    }

    fn hash(&self, sampling: &Sampling, headers: &HeaderMap) -> u64 {
        let value = match &sampling.by {
            By::Header(name) => headers.get(name),
            By::Random | By::Body => None,
        };
        match value {
            Some(value) => xxh3_64_with_seed(value.as_bytes(), sampling.seed),
            None => {
                let number = self.seen.fetch_add(1, Ordering::Relaxed);
                xxh3_64_with_seed(&number.to_le_bytes(), sampling.seed)
            }
        }
    }
}

impl Chosen {
    /// The run that its exchanges belong to.
    pub(crate) fn run(&self) -> &Arc<Run> {
        &self.plan.run
    }

    /// Name of the route that allowed it.
    pub(crate) fn route(&self) -> &str {
        &self.plan.sampling.routes[self.route].name
    }

    /// Counts its copies as mirrored; gives the shadow of each.
    pub(crate) fn begin(&self) -> Vec<usize> {
        let mut legs = Vec::with_capacity(self.plan.copies.len());
        for shadow in 0..self.plan.copies.len() {
            let copies = self.plan.copies(shadow, self.hash);
            self.plan.run.account.mirrored(shadow, copies);
            legs.extend(std::iter::repeat_n(shadow, copies as usize));
        }
        legs
    }
}

impl Undecided {
    /// Decides by the body. Where the body was not kept, its length in bytes stands for it: known on every proxy, too.
    pub(crate) fn decide<'a>(
        self,
        body: impl IntoIterator<Item = &'a [u8]>,
        load: impl Fn(usize) -> u32,
    ) -> Option<Chosen> {
        let mut hash = Xxh3::with_seed(self.plan.sampling.seed);
        body.into_iter().for_each(|chunk| hash.update(chunk));
        let hash = hash.digest();
        if !self.plan.fraction(self.route).takes(hash) {
            return None;
        }
        self.plan.admit(self.route, hash, load)
    }
}

#[cfg(test)]
mod tests;
