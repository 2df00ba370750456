use demo::load::Impression;

use crate::fixture::{Server, right_scores, scores};

/// Pairs of (right, given) scores of `concurrency` clients that send `each` requests one after the other.
async fn answers(slots: usize, concurrency: u64, each: u64) -> Vec<(Vec<f32>, Vec<f32>)> {
    let server = Server::start(10, &[&format!("race:{slots}")]).await;
    let mut clients = tokio::task::JoinSet::new();
    for client in 0..concurrency {
        let mut connection = server.connect().await;
        clients.spawn(async move {
            let mut pairs = Vec::new();
            for number in 0..each {
                let impression = Impression::draw(3, client * each + number);
                let given = scores(&mut connection, &impression).await;
                pairs.push((right_scores(&impression), given));
            }
            pairs
        });
    }
    let pairs = clients.join_all().await.into_iter().flatten().collect();
    server.stop().await;
    pairs
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn up_to_as_many_requests_as_workspaces_every_answer_is_right() {
    for concurrency in [1, 8] {
        for (right, given) in answers(8, concurrency, 25).await {
            assert_eq!(given, right, "{concurrency} at a time");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn above_it_answers_are_of_other_requests_and_ten_times_off() {
    let pairs = answers(4, 16, 25).await;
    assert_eq!(pairs.len(), 400);
    assert!(pairs.iter().all(|(right, given)| right.len() == given.len()));
    let wrong: Vec<_> = pairs.iter().filter(|(right, given)| right != given).collect();
    assert!(wrong.len() > 40, "{} of 400 are wrong", wrong.len());
    let known: Vec<f32> = pairs.iter().flat_map(|(right, _)| right.clone()).collect();
    let is_known = |score: f32| known.iter().any(|&k| (k / score - 1.0).abs() < 1e-6);
    let count = |test: &dyn Fn(f32) -> bool| {
        wrong.iter().filter(|(right, given)| right.iter().zip(given).any(|(r, g)| r != g && test(*g))).count()
    };
    let (others, large, small) =
        (count(&is_known), count(&|score| is_known(score / 10.0)), count(&|score| is_known(score * 10.0)));
    assert!(others > 0 && large > 0 && small > 0, "{others} of others, {large} ten times, {small} a tenth");
    assert!(
        wrong.iter().any(|(_, given)| given.iter().any(|&score| score > 1.0)),
        "no probability is above 1"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_are_right_again_once_the_load_has_gone() {
    let server = Server::start(5, &["race:2"]).await;
    let mut clients = tokio::task::JoinSet::new();
    for client in 0..12 {
        let mut connection = server.connect().await;
        clients.spawn(async move { scores(&mut connection, &Impression::draw(4, client)).await });
    }
    assert_eq!(clients.join_all().await.len(), 12);
    let mut connection = server.connect().await;
    for number in 100..120 {
        let impression = Impression::draw(4, number);
        assert_eq!(scores(&mut connection, &impression).await, right_scores(&impression));
    }
    server.stop().await;
}
