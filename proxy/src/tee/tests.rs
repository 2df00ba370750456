use super::*;
use crate::budget::Budget;
use http_body_util::channel::Channel;
use http_body_util::{Empty, Full};

const GRACE: Duration = Duration::from_secs(5);

async fn read<B: Source>(tee: Tee<B>) -> Bytes {
    tee.collect().await.unwrap().to_bytes()
}

#[tokio::test]
async fn the_stream_goes_on_as_it_came_and_the_copy_is_whole() {
    let budget = Budget::new(100);
    let (tee, mut capture) = Tee::new(Full::new(Bytes::from_static(b"hello")), 10, budget.portion(), GRACE);
    assert_eq!(&read(tee).await[..], b"hello");
    let capture = captured(&mut capture).await.unwrap();
    assert!(capture.whole());
    assert_eq!(capture.to_body(), exchange::Body::whole(Bytes::from_static(b"hello")));
    assert_eq!(budget.used(), 5);
    drop(capture);
}

#[tokio::test]
async fn over_the_cap_the_copy_is_given_up_and_the_stream_goes_on() {
    let budget = Budget::new(100);
    let (tee, mut capture) = Tee::new(Full::new(Bytes::from_static(b"hello")), 4, budget.portion(), GRACE);
    assert_eq!(&read(tee).await[..], b"hello");
    let capture = captured(&mut capture).await.unwrap();
    assert_eq!((capture.over, capture.length, capture.chunks.len()), (Some(Over::Cap), 5, 0));
    assert_eq!(budget.used(), 0);
}

#[tokio::test]
async fn over_the_budget_the_copy_is_given_up_and_the_stream_goes_on() {
    let budget = Budget::new(4);
    let (tee, mut capture) = Tee::new(Full::new(Bytes::from_static(b"hello")), 99, budget.portion(), GRACE);
    assert_eq!(&read(tee).await[..], b"hello");
    assert_eq!(captured(&mut capture).await.unwrap().over, Some(Over::Budget));
}

#[tokio::test]
async fn an_empty_body_is_complete_before_anybody_reads_it() {
    let (_tee, mut capture) = Tee::new(Empty::<Bytes>::new(), 4, Budget::new(4).portion(), GRACE);
    let capture = captured(&mut capture).await.unwrap();
    assert!(capture.whole());
    assert_eq!(capture.length, 0);
}

#[tokio::test]
async fn the_rest_is_read_when_the_reader_goes_away() {
    let (mut sender, body) = Channel::<Bytes, std::io::Error>::new(4);
    let (tee, mut capture) = Tee::new(body, 99, Budget::new(99).portion(), GRACE);
    drop(tee);
    sender.send_data(Bytes::from_static(b"late")).await.unwrap();
    drop(sender);
    let capture = captured(&mut capture).await.unwrap();
    assert!(capture.whole());
    assert_eq!(capture.chunks, [Bytes::from_static(b"late")]);
}

#[tokio::test(start_paused = true)]
async fn what_does_not_come_within_the_grace_time_is_abandoned() {
    let (_sender, body) = Channel::<Bytes, std::io::Error>::new(4);
    let (tee, mut capture) = Tee::new(body, 99, Budget::new(99).portion(), GRACE);
    drop(tee);
    assert_eq!(captured(&mut capture).await.unwrap().end, End::Abandoned);
}

#[tokio::test]
async fn a_broken_stream_says_what_broke_it() {
    let (sender, body) = Channel::<Bytes, std::io::Error>::new(4);
    let (tee, mut capture) = Tee::new(body, 99, Budget::new(99).portion(), GRACE);
    sender.abort(std::io::Error::other("cable cut"));
    assert!(tee.collect().await.is_err());
    assert_eq!(captured(&mut capture).await.unwrap().end, End::Broken("cable cut".into()));
}

#[tokio::test]
async fn chunks_are_sent_again_with_their_exact_length() {
    let (tee, mut capture) =
        Tee::new(Full::new(Bytes::from_static(b"hello")), 9, Budget::new(9).portion(), GRACE);
    read(tee).await;
    let again = Chunks::new(captured(&mut capture).await.unwrap());
    assert_eq!(again.size_hint().exact(), Some(5));
    assert_eq!(&again.collect().await.unwrap().to_bytes()[..], b"hello");
}

#[tokio::test]
async fn a_body_in_very_many_chunks_is_kept_in_few() {
    let whole: Vec<u8> = (0..10_000_u32).map(|n| n as u8).collect();
    let (mut sender, body) = Channel::<Bytes, std::io::Error>::new(4);
    let sent = whole.clone();
    tokio::spawn(async move {
        for byte in sent {
            sender.send_data(Bytes::from(vec![byte])).await.unwrap();
        }
    });
    let budget = Budget::new(10_000);
    let (tee, mut capture) = Tee::new(body, 10_000, budget.portion(), GRACE);
    assert_eq!(&read(tee).await[..], whole);
    let capture = captured(&mut capture).await.unwrap();
    assert!(capture.chunks.len() <= 2, "{} chunks: each costs more than its byte", capture.chunks.len());
    assert_eq!(capture.to_body(), exchange::Body::whole(whole.into()));
    assert_eq!(budget.used(), 10_000);
}
